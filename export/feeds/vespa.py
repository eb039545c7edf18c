"""Vespa: weighted sets of whole numbers for impacts, and tensors for dense vectors.

Weights are whole numbers, so impacts are multiplied by a factor and rounded. An impact of 2²⁰ steps
changes an order only where two scores are equal to six digits.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from ranklet.export.feeds.plan import Entry, Field, Plan, as_json, engine_names, numbers, shared
from ranklet.runtime.bundles.manifest import DATE, DATETIME, FLAG, LIST, NUMBER, STRING
from ranklet.runtime.call.query import QueryVector, SparseQuery
from ranklet.runtime.hits import plain

DOCUMENTS = "documents.jsonl"
STEPS = 1 << 20  # of the largest impact of a ranker, and of the largest weight of a query
TYPES = {
    STRING: "string",
    LIST: "array<string>",
    NUMBER: "double",
    FLAG: "bool",
    DATE: "long",
    DATETIME: "long",
}
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufdd0-\ufdef\ufffe\uffff]")


def schema(plan: Plan) -> dict[str, str]:
    """Return an application package: the schema and the services of one node."""
    return {f"schemas/{plan.index}.sd": _schema(plan), "services.xml": _services(plan)}


def lines(plan: Plan, entries: Iterable[Entry]) -> Iterator[str]:
    """Return one line per entry, in Vespa's JSON format of documents."""
    fields = {field.name: field for field in plan.fields}
    names = engine_names(plan.metadata, r"\W", "metadata_")
    for entry in entries:
        content: dict[str, Any] = {n: _clean(value) for n, value in shared(entry).items()}
        for name, value in plain(entry.metadata).items():
            content[names[name]] = _value(value, plan.metadata[name])
        for name, vector in entry.vectors.items():
            if isinstance(vector, SparseQuery):
                content[name] = _whole(vector, STEPS / (fields[name].largest or 1.0))
            else:
                content[name] = {"values": numbers(vector)}
        yield as_json({"put": f"id:{plan.index}:{plan.index}::{entry.key}", "fields": content})


def query(plan: Plan, field: Field, vector: QueryVector, k: int) -> dict[str, Any]:
    """Return the body of a search, which is exact."""
    if isinstance(vector, SparseQuery):
        largest = float(vector.weights.max()) if len(vector.weights) else 1.0
        pairs = _whole(vector, STEPS / largest)
        wanted = ", ".join(f"[{term}, {weight}]" for term, weight in pairs.items())
        match = f"({{targetHits: {k}}}wand({field.name}, [{wanted}]))"
        more: dict[str, Any] = {}
    else:
        match = f"({{targetHits: {k}, approximate: false}}nearestNeighbor({field.name}, q))"
        more = {"input.query(q)": numbers(vector)}
    best = "order(-max(relevance())) each(max(1) each(output(summary())))"
    groups = f" | all(group(document) max({k}) {best})" if plan.passages else ""
    return {  # nothing in it comes from a caller's text
        "yql": f"select * from {plan.index} where {match}{groups}",  # noqa: S608
        "ranking": field.name,
        "hits": 0 if plan.passages else k,
        **more,
    }


def usage(plan: Plan) -> str:
    """Return the commands that deploy the application, load the feed and search it."""
    del plan
    return f"""\
vespa deploy .
vespa feed {DOCUMENTS}
vespa curl -X POST search/ -H 'Content-Type: application/json' -d @query.json"""


def _schema(plan: Plan) -> str:
    names = engine_names(plan.metadata, r"\W", "metadata_")
    fields = [
        _field("key", "string", "attribute | summary"),
        _field("document", "string", "attribute | summary"),
        _field("title", "string", "index | summary"),
        _field("text", "string", "index | summary"),
        *([_field("passage", "int", "attribute | summary")] if plan.passages else []),
        *(_field(names[n], TYPES[t], "attribute | summary") for n, t in plan.metadata.items()),
    ]
    profiles = []
    for vectors in plan.fields:
        if vectors.sparse:
            fields.append(
                _field(vectors.name, "weightedset<int>", "attribute", "attribute: fast-search")
            )
            profiles.append(_profile(vectors.name, "", f"rawScore({vectors.name})"))
        else:
            tensor = f"tensor<float>(x[{vectors.dimension}])"
            fields.append(
                _field(
                    vectors.name,
                    tensor,
                    "attribute | index",
                    "attribute: distance-metric: dotproduct",
                )
            )
            inputs = f"        inputs {{\n            query(q) {tensor}\n        }}\n"
            product = f"sum(query(q) * attribute({vectors.name}))"
            profiles.append(_profile(vectors.name, inputs, product))
    content = "".join(f"        {line}\n" for field in fields for line in field.splitlines())
    return (
        f"schema {plan.index} {{\n    document {plan.index} {{\n{content}    }}\n"
        f"{''.join(profiles)}}}\n"
    )


def _field(name: str, type_: str, indexing: str, *more: str) -> str:
    rest = "".join(f"\n    {each}" for each in more)
    return f"field {name} type {type_} {{\n    indexing: {indexing}{rest}\n}}"


def _profile(name: str, inputs: str, expression: str) -> str:
    return (
        f"    rank-profile {name} {{\n{inputs}        first-phase {{\n"
        f"            expression: {expression}\n        }}\n    }}\n"
    )


def _services(plan: Plan) -> str:
    return f"""\
<?xml version="1.0" encoding="utf-8"?>
<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
  </container>
  <content id="{plan.index}" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents>
      <document type="{plan.index}" mode="index"/>
    </documents>
    <nodes>
      <node distribution-key="0" hostalias="node1"/>
    </nodes>
  </content>
</services>
"""


def _whole(vector: SparseQuery, factor: float) -> dict[str, int]:
    """Return a sparse vector in whole numbers, without the terms that vanish."""
    pairs = zip(vector.terms.tolist(), vector.weights.tolist(), strict=True)
    rounded = {str(term): round(value * factor) for term, value in pairs}
    return {term: value for term, value in rounded.items() if value > 0}


def _value(value: Any, type_: str) -> Any:
    """Return a value of the metadata; dates are seconds since 1970."""
    if type_ in (DATE, DATETIME):
        moment = datetime.fromisoformat(value)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return [_clean(each) for each in value] if isinstance(value, list) else _clean(value)


def _clean(value: Any) -> Any:
    """Return a text without the control characters that Vespa refuses; other values as they are."""
    return _REFUSED.sub(" ", value) if isinstance(value, str) else value
