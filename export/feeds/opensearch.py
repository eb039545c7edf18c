"""OpenSearch from 2.13: rank_features and knn_vector fields."""

from typing import Any

from ranklet.export.feeds import elastic
from ranklet.export.feeds.elastic import DOCUMENTS, lines, usage
from ranklet.export.feeds.plan import Field, Plan, as_json, numbers, terms
from ranklet.runtime.call.query import QueryVector, SparseQuery

__all__ = ["DOCUMENTS", "lines", "query", "schema", "usage"]


def schema(plan: Plan) -> dict[str, str]:
    """Return the body that creates the index."""
    vectors: dict[str, dict[str, Any]] = {}
    for field in plan.fields:
        if field.sparse:
            vectors[field.name] = {"type": "rank_features"}
        else:
            method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
            vectors[field.name] = {
                "type": "knn_vector", "dimension": field.dimension, "method": method
            }  # fmt: skip
    dense = any(not field.sparse for field in plan.fields)
    settings = {"settings": {"index": {"knn": True}}} if dense else {}
    return {"index.json": as_json({**settings, "mappings": elastic.mappings(plan, vectors)})}


def query(plan: Plan, field: Field, vector: QueryVector, k: int) -> dict[str, Any]:
    """Return the body of a search.

    The search of a dense field reads every document, so that it is exact; a `knn` search with the
    same vector is faster and approximate.
    """
    if isinstance(vector, SparseQuery):
        should = [
            {"rank_feature": {"field": f"{field.name}.{term}", "linear": {}, "boost": weight}}
            for term, weight in terms(vector).items()
        ]
        return elastic.search(plan, {"bool": {"should": should, "minimum_should_match": 1}}, k)
    script = {
        "lang": "knn",
        "source": "knn_score",
        "params": {
            "field": field.name,
            "query_value": numbers(vector),
            "space_type": "innerproduct",
        },
    }
    exact = {"script_score": {"query": {"match_all": {}}, "script": script}}
    return elastic.search(plan, exact, k)
