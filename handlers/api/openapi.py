"""What the server says of itself: OpenAPI 3.1, built from the limits that it runs with.

The tests hold it equal to what the server does: every route is here, what it allows is answered,
and what it does not is refused.
"""

from typing import Any

from ranklet import __version__
from ranklet.handlers.api.limits import Limits

Schema = dict[str, Any]

_NUMBER = {"type": "number"}
_FLAG = {"type": ["boolean", "null"], "default": False}
_NAME = {"type": ["string", "null"], "maxLength": 1000}
_STRING = {"type": "string"}


def describe(limits: Limits, *, keyed: bool) -> Schema:
    """Return the document.

    Args:
        limits: that requests are held to.
        keyed: whether an API key is needed.
    """
    security: list[Schema] = [{"bearer": []}, {"apiKey": []}] if keyed else []
    answers = {
        "/rank": ("Rank the collection, or documents of your own.", "RankRequest", "Ranking"),
        "/explain": ("Explain one document's score.", "ExplainRequest", "Explained"),
        "/rerank": (
            "Rerank: `texts` as TEI, `documents` as Cohere and Jina.",
            "Rerank",
            "Reranked",
        ),
        "/v1/rerank": ("Rerank, as Cohere's first version and Jina.", "Rerank", "Reranked"),
        "/v2/rerank": ("Rerank, as Cohere's second version.", "Rerank", "Reranked"),
    }
    paths: Schema = {path: {"post": _post(*each, security)} for path, each in answers.items()}
    paths |= {
        "/info": {"get": _get("What is in the bundle.", {"type": "object"}, security)},
        "/healthz": {"get": _get("Whether the process lives.", {"type": "object"}, [])},
        "/readyz": {"get": _get("Whether requests are answered.", {"type": "object"}, [])},
        "/metrics": {"get": _get("Counters for Prometheus.", None, security)},
        "/openapi.json": {"get": _get("This document.", {"type": "object"}, [])},
    }
    paths["/readyz"]["get"]["responses"]["503"] = _json_reply("Not ready, and why.", _OBJECT)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ranklet",
            "version": __version__,
            "description": "Ranks texts for a query with an exported bundle.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(limits),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


_OBJECT = {"type": "object"}

_ERRORS = {
    400: "The body is not JSON.",
    401: "The API key is missing or wrong.",
    404: "No such document or pipeline.",
    408: "The body arrived too slowly.",
    413: "Too many or too long.",
    415: "The body is not said to be JSON.",
    422: "A value cannot be used.",
    500: "A fault of the server.",
    503: "Not ready, or too busy; try again.",
    504: "It would take too long.",
}


def _post(summary: str, request: str, response: str, security: list[Any]) -> Schema:
    errors = {str(status): _json_reply(told, _ref("Error")) for status, told in _ERRORS.items()}
    return {
        "summary": summary,
        "operationId": summary.split(":")[0].rstrip(".").lower().replace(" ", "_").replace(",", ""),
        "security": security,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _ref(request)}},
        },
        "responses": {"200": _json_reply("The answer.", _ref(response)), **errors},
    }


def _get(summary: str, schema: Schema | None, security: list[Any]) -> Schema:
    replies = {"200": _json_reply("The answer.", schema)}
    if schema is None:
        replies["200"]["content"] = {"text/plain": {"schema": _STRING}}
    if security:
        replies["401"] = _json_reply(_ERRORS[401], _ref("Error"))
    replies["503"] = _json_reply(_ERRORS[503], _ref("Error"))
    return {"summary": summary, "security": security, "responses": replies}


def _json_reply(told: str, schema: Schema | None) -> Schema:
    return {"description": told, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _schemas(limits: Limits) -> Schema:
    query = {"type": "string", "pattern": r"\S", "maxLength": limits.query_characters}
    asked = {"query": query}
    documents = {
        **_list(_ref("Document")),
        "minItems": 1,
        "maxItems": limits.documents,
        "description": f"At most {limits.characters:,} characters in all.",
    }
    late = {"budget_spent": {"type": "boolean"}, "left_out": _list(_STRING)}
    top = {"type": ["integer", "null"], "minimum": 1, "maximum": (1 << 31)}
    shared = {"pipeline": _NAME, "model": _NAME, "top_n": top, "top_k": top}
    kinds = {"return_documents": _FLAG, "return_text": _FLAG}
    of_tei: Schema = {
        "truncate": _FLAG,
        "raw_scores": _FLAG,
        "truncation_direction": {
            "anyOf": [{"type": "string", "pattern": "^([Ll]eft|[Rr]ight)$"}, {"type": "null"}]
        },
    }
    nothing: Schema = {"type": "null"}
    span = _object({"begin": {"type": "integer"}, "end": {"type": "integer"}, "value": _NUMBER})
    hit = _object(
        {"id": _STRING, "score": _NUMBER, "index": {"type": "integer"}},
        {
            "title": _STRING,
            "text": _STRING,
            "explanation": _ref("Explanation"),
            "highlights": _object({"title": _list(span), "text": _list(span)}),
        },
    )
    result = _object(
        {"index": {"type": "integer"}, "relevance_score": _NUMBER},
        {"document": _object({"text": _STRING})},
    )
    scored = _object({"index": {"type": "integer"}, "score": _NUMBER}, {"text": _STRING})
    return {
        "Error": _object({"error": _STRING, "error_type": _STRING}),
        "Document": {
            "anyOf": [
                _STRING,
                _object(
                    {"text": _STRING},
                    {"id": {"type": ["string", "null"]}, "title": {"type": ["string", "null"]}},
                ),
            ]
        },
        "RankRequest": _object(
            asked,
            {
                "k": {"type": ["integer", "null"], "minimum": 0, "maximum": limits.explained,
                      "default": 10,
                      "description": f"Up to {limits.k} where nothing is explained."},
                "pipeline": _NAME,
                "explain": _FLAG,
                "highlight": _FLAG,
                "return_documents": {**_FLAG, "default": True},
                "documents": {"anyOf": [documents, nothing]},
            },
        ),
        "Ranking": _object(
            {"query": _STRING, "hits": _list(hit), "ms": _OBJECT}, {**late, "truncated": _OBJECT}
        ),
        "ExplainRequest": _object(
            {**asked, "id": {**query, "description": "Of a document of the collection."}},
            {"pipeline": _NAME},
        ),
        "Explained": _object(
            {"query": _STRING, "id": _STRING, "score": _NUMBER, "explanation": _ref("Explanation")}
        ),
        "Explanation": _object(
            {"label": _STRING, "value": _NUMBER, "parts": _list(_ref("Explanation"))}
        ),
        "Rerank": {
            "anyOf": [
                _object({**asked, "documents": documents},
                        {**shared, **kinds, "texts": nothing}),
                _object({**asked, "texts": documents},
                        {**shared, **kinds, **of_tei, "documents": nothing}),
            ]
        },
        "Reranked": {
            "anyOf": [
                _list(scored),
                _object(
                    {"model": _STRING, "results": _list(result), "usage": _OBJECT, "meta": _OBJECT}
                ),
            ]
        },
    }  # fmt: skip
