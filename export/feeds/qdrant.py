"""Qdrant, which stores the vectors as they are, so that the order is the bundle's."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID, uuid5

from ranklet.export.feeds.plan import Entry, Field, Plan, as_json, numbers, shared
from ranklet.runtime.bundles.manifest import DATE, DATETIME, FLAG, LIST, NUMBER, STRING
from ranklet.runtime.call.query import QueryVector, SparseQuery
from ranklet.runtime.hits import plain

DOCUMENTS = "points.jsonl"
BATCH = 100  # points per line
ENTRIES = UUID("6f0e7a2c-3a0c-5d0f-9a53-0d3f7e6b4c11")  # the namespace of our points' ids
TYPES = {
    STRING: "keyword",
    LIST: "keyword",
    NUMBER: "float",
    FLAG: "bool",
    DATE: "datetime",
    DATETIME: "datetime",
}


def schema(plan: Plan) -> dict[str, str]:
    """Return the bodies that create the collection and the indexes of its payload."""
    dense = {
        each.name: {"size": each.dimension, "distance": "Dot"}
        for each in plan.fields
        if not each.sparse
    }
    sparse = {each.name: dict[str, Any]() for each in plan.fields if each.sparse}
    indexes = [
        {"field_name": f"metadata.{_in_path(name)}", "field_schema": TYPES[type_]}
        for name, type_ in plan.metadata.items()
    ]
    indexes.append({"field_name": "document", "field_schema": "keyword"})
    return {
        "collection.json": as_json({"vectors": dense, "sparse_vectors": sparse}),
        "payload_indexes.jsonl": "".join(f"{as_json(each)}\n" for each in indexes),
    }


def lines(plan: Plan, entries: Iterable[Entry]) -> Iterator[str]:
    """Return lines, each of which is the body of a request that stores `BATCH` points."""
    del plan
    points: list[dict[str, Any]] = []
    for entry in entries:
        payload = {**shared(entry), "metadata": plain(entry.metadata)}
        vectors = {name: _vector(each) for name, each in entry.vectors.items()}
        points.append({"id": str(uuid5(ENTRIES, entry.key)), "vector": vectors, "payload": payload})
        if len(points) == BATCH:
            yield as_json({"points": points})
            points = []
    if points:
        yield as_json({"points": points})


def query(plan: Plan, field: Field, vector: QueryVector, k: int) -> dict[str, Any]:
    """Return the body of a search, which is exact."""
    body = {"query": _vector(vector), "using": field.name, "limit": k, "with_payload": True}
    if not field.sparse:
        body["params"] = {"exact": True}
    if plan.passages:
        body |= {"group_by": "document", "group_size": 1}
    return body


def usage(plan: Plan) -> str:
    """Return the requests that load the feed and search it."""
    place = f"http://localhost:6333/collections/{plan.index}"
    search = "query/groups" if plan.passages else "query"
    return f"""\
curl -X PUT {place} -H 'Content-Type: application/json' -d @collection.json
while read -r line; do
  printf "%s" "$line" | curl -X PUT {place}/index -H 'Content-Type: application/json' -d @-
done < payload_indexes.jsonl
while read -r line; do
  printf "%s" "$line" | curl -X PUT {place}/points -H 'Content-Type: application/json' -d @-
done < {DOCUMENTS}
curl -X POST {place}/points/{search} -H 'Content-Type: application/json' -d @query.json"""


def _in_path(name: str) -> str:
    """Return a name as a part of a path, in quotes where it has other than letters and digits."""
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'


def _vector(vector: QueryVector) -> Any:
    if isinstance(vector, SparseQuery):
        return {"indices": vector.terms.tolist(), "values": numbers(vector.weights)}
    return numbers(vector)
