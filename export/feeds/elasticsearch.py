"""Elasticsearch from 8.15: sparse_vector and dense_vector fields."""

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
            vectors[field.name] = {"type": "sparse_vector"}
        else:
            vectors[field.name] = {
                "type": "dense_vector",
                "dims": field.dimension,
                "index": True,
                "similarity": "max_inner_product",  # which also takes vectors of zeros
            }
    return {"index.json": as_json({"mappings": elastic.mappings(plan, vectors)})}


def query(plan: Plan, field: Field, vector: QueryVector, k: int) -> dict[str, Any]:
    """Return the body of a search.

    The search of a dense field reads every document, so that it is exact; a `knn` search with the
    same vector is faster and approximate. A score must not be negative, so it is the logistic
    function of the product.
    """
    if isinstance(vector, SparseQuery):
        sparse = {"field": field.name, "query_vector": terms(vector), "prune": False}
        return elastic.search(plan, {"sparse_vector": sparse}, k)
    script = {
        "source": f"sigmoid(1, Math.E, -dotProduct(params.query_vector, '{field.name}'))",
        "params": {"query_vector": numbers(vector)},
    }
    exact = {"script_score": {"query": {"match_all": {}}, "script": script}}
    return elastic.search(plan, exact, k)
