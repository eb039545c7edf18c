"""What Elasticsearch and OpenSearch share: an index, the bulk format, and how hits are grouped.

Both store the values of a sparse field with 9 significant bits, so documents whose scores differ by
less than half a percent may change places.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ranklet.export.errors import ExportError
from ranklet.export.feeds.plan import Entry, Plan, as_json, engine_names, numbers, shared, terms
from ranklet.runtime.bundles.manifest import DATE, DATETIME, FLAG, LIST, NUMBER, STRING
from ranklet.runtime.call.query import QueryVector, SparseQuery
from ranklet.runtime.hits import plain

DOCUMENTS = "bulk.ndjson"
LONGEST_KEY = 512  # bytes of an id
DOTS = r"\."  # in a name they would make an object
TYPES = {
    STRING: "keyword",
    LIST: "keyword",
    NUMBER: "double",
    FLAG: "boolean",
    DATE: "date",
    DATETIME: "date",
}


def mappings(plan: Plan, vectors: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mappings of an index.

    Args:
        plan: the plan of the feed.
        vectors: the mapping of each ranker's field.
    """
    names = engine_names(plan.metadata, DOTS)
    metadata = {names[name]: _mapping(type_) for name, type_ in plan.metadata.items()}
    properties: dict[str, Any] = {
        "key": {"type": "keyword"},
        "document": {"type": "keyword"},
        "title": {"type": "text"},
        "text": {"type": "text"},
        **({"passage": {"type": "integer"}} if plan.passages else {}),
        **({"metadata": {"properties": metadata}} if metadata else {}),
        **vectors,
    }
    return {"dynamic": "strict", "properties": properties}


def _mapping(type_: str) -> dict[str, Any]:
    """Return the mapping of a field of the metadata. Longer keywords are stored, not searched."""
    longest = {"ignore_above": 8191} if TYPES[type_] == "keyword" else {}
    return {"type": TYPES[type_], **longest}


def lines(plan: Plan, entries: Iterable[Entry]) -> Iterator[str]:
    """Return the lines of the bulk format: an action and an entry by turns.

    Raises:
        ExportError: an id is too long.
    """
    names = engine_names(plan.metadata, DOTS)
    for entry in entries:
        if len(entry.key.encode("utf-8", "replace")) > LONGEST_KEY:
            raise ExportError(
                f"the id {entry.key[:40]!r}… has more than {LONGEST_KEY} bytes, which this engine "
                "refuses; give the documents shorter ids"
            )
        yield as_json({"index": {"_index": plan.index, "_id": entry.key}})
        document = shared(entry)
        if entry.metadata:
            document["metadata"] = {names[n]: value for n, value in plain(entry.metadata).items()}
        yield as_json(document | {name: stored(each) for name, each in entry.vectors.items()})


def stored(vector: QueryVector) -> Any:
    """Return a vector as a document has it."""
    return terms(vector) if isinstance(vector, SparseQuery) else numbers(vector)


def search(plan: Plan, query: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the body of a search; of a document's passages only the best one is returned."""
    fields = ["document", "title", "text", "passage", "metadata"]
    body: dict[str, Any] = {"size": k, "query": query, "_source": fields}
    if plan.passages:
        body["collapse"] = {"field": "document"}
    return body


def usage(plan: Plan) -> str:
    """Return the requests that load the feed and search it."""
    place = "http://localhost:9200"
    return f"""\
curl -X PUT {place}/{plan.index} -H 'Content-Type: application/json' -d @index.json
split -l 1000 {DOCUMENTS} bulk.part.
for part in bulk.part.*; do
  curl -X POST {place}/_bulk -H 'Content-Type: application/x-ndjson' --data-binary @"$part"
done
curl -X POST {place}/{plan.index}/_search -H 'Content-Type: application/json' -d @query.json"""
