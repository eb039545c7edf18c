"""Describe the API in OpenAPI 3.1, with the limits that the server runs with.

Tests compare this description with the server: it names every route, the server answers what it
allows, and the server refuses what it does not allow.
"""

from typing import Any

from ranklet.handlers.api.field import CONDITIONS, DOCUMENTS, FACETS, TEXTS, Field, Route
from ranklet.handlers.api.fields import list_fields
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.schemas import Schema, schema_of
from ranklet.runtime.answers.context import Context, ContextSpan
from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.hits import Completion, Count, Hit, Ranking
from ranklet.runtime.search.whole_document import WholeDocument
from ranklet.version import __version__

_JSON = "application/json"
_NUMBER = {"type": "number"}
_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_OBJECT = {"type": "object"}
_NULL = {"type": "null"}
_PLACE = {"type": "array", "items": _INTEGER, "minItems": 2, "maxItems": 2}
_OFF = {"enum": [False, None], "default": False}
# Path, operation, schemas of request and response, summary.
_ANSWERS = (
    ("/rank", "rank", "RankRequest", "Ranking", "Rank the collection or your own documents."),
    ("/explain", "explain", "ExplainRequest", "Explained", "Explain the score of a document."),
    ("/complete", "complete", "CompleteRequest", "Completions", "Complete what a person types."),
    ("/context", "context", "ContextRequest", "Context", "What fits into a prompt, with sources."),
    ("/documents", "add", "AddRequest", "Added", "Add or replace documents."),
    ("/documents/delete", "delete", "DeleteRequest", "Deleted", "Delete documents."),
    ("/rerank", "rerank", "Rerank", "Reranked", "Rerank `texts` (TEI) or `documents` (Cohere)."),
    ("/v1/rerank", "rerank_v1", "Rerank", "Reranked", "Rerank as Cohere's version 1 or Jina do."),
    ("/v2/rerank", "rerank_v2", "Rerank", "Reranked", "Rerank as Cohere's version 2 does."),
    ("/v1/embeddings", "embeddings", "EmbeddingsRequest", "Embeddings", "Encode as OpenAI does."),
    ("/embed", "embed", "EmbedRequest", "Vectors", "Encode as TEI does."),
    ("/embed_sparse", "embed_sparse", "EmbedRequest", "Terms", "Encode by terms, as TEI does."),
)
_WRITES = ("add", "delete")  # they need a key in any case
_KEYED: list[Schema] = [{"bearer": []}, {"apiKey": []}]
_ERRORS = {
    400: "The body is not JSON, has a key twice, or has half a character.",
    401: "The API key is missing or wrong.",
    403: "The host, or the page that asks, is not the server's; or the key may not write.",
    404: "There is no such document, pipeline or model.",
    408: "The body arrived too slowly.",
    413: "There are too many texts, or they are too long.",
    415: "The Content-Type is not JSON.",
    422: "A field is unknown, or has a value that cannot be used.",
    429: "The API key has too many requests at once, or in this minute.",
    500: "The server has a fault; its log says which.",
    503: "The server is not ready, or too busy; try again.",
    504: "The answer would take too long.",
}


def describe(limits: Limits, *, keyed: bool) -> Schema:
    """Return the OpenAPI document, in which requests need an API key if `keyed`."""
    security = _KEYED if keyed else []
    paths: Schema = {
        path: {
            "post": _post(name, request, response, summary, _KEYED if name in _WRITES else security)
        }
        for path, name, request, response, summary in _ANSWERS
    }
    schemas = _schemas(limits)
    paths |= {
        "/info": {"get": _get("info", "What the bundle holds, and the limits.", _JSON, security)},
        "/healthz": {"get": _get("healthz", "Whether the process is alive.", _JSON, [])},
        "/v1/models": {"get": _get("models", "The rankers that encode texts.", _JSON, security)},
        "/health": {"get": _get("health", "The same as /readyz, for TEI.", _JSON, [])},
        "/readyz": {"get": _get("readyz", "Whether the server answers requests.", _JSON, [])},
        "/metrics": {"get": _get("metrics", "Counters for Prometheus.", "text/plain", security)},
        "/openapi.json": {"get": _get("openapi", "This document.", _JSON, [])},
    }
    paths |= {
        "/documents/{id}": {
            "get": _by_id("document", "A document of the collection.", "Stored", security),
            "delete": _by_id("forget", "Delete a document.", "Deleted", _KEYED),
        },
        "/v1/models/{id}": {
            "get": _by_id("model", "A ranker that encodes texts.", "Model", security)
        },
    }
    paths["/complete"]["get"] = _completing(limits, security)
    not_ready = _json_reply("The server is not ready, and the reason.", _OBJECT)
    for path in ("/readyz", "/health"):
        paths[path]["get"]["responses"]["503"] = not_ready
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ranklet",
            "version": __version__,
            "description": "Ranks documents for a query with an exported bundle.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "./"}],  # from this document's address, behind a proxy's prefix, too
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def _post(name: str, request: str, response: str, summary: str, security: list[Any]) -> Schema:
    errors = {str(status): _json_reply(text, _ref("Error")) for status, text in _ERRORS.items()}
    return {
        "summary": summary,
        "operationId": name,
        "security": security,
        "requestBody": {"required": True, "content": _json_content(_ref(request))},
        "responses": {"200": _json_reply("The answer.", _ref(response)), **errors},
    }


def _get(name: str, summary: str, media: str, security: list[Any]) -> Schema:
    schema = _OBJECT if media == _JSON else _STRING
    answer = {"description": "The answer.", "content": {media: {"schema": schema}}}
    errors = (503,) if name in ("healthz", "readyz", "health") else (403, 503)
    replies = {"200": answer}
    replies |= {str(status): _json_reply(_ERRORS[status], _ref("Error")) for status in errors}
    if security:
        replies["401"] = _json_reply(_ERRORS[401], _ref("Error"))
    return {"summary": summary, "operationId": name, "security": security, "responses": replies}


def _completing(limits: Limits, security: list[Any]) -> Schema:
    """Return the GET that has its fields in the URL."""
    described = _get("complete_by_url", "Complete what a person types.", _JSON, security)
    described["responses"]["200"] = _json_reply("The answer.", _ref("Completions"))
    for status in (400, 413, 422):
        described["responses"][str(status)] = _json_reply(_ERRORS[status], _ref("Error"))
    parameters = [
        {"name": name, "in": "query", "schema": field.schema(limits)}
        if field.type is not CONDITIONS
        else {"name": name, "in": "query", "content": _json_content(field.schema(limits))}
        for name, field in list_fields(Route.COMPLETE).items()
    ]
    return {**described, "parameters": parameters}


def _by_id(name: str, summary: str, response: str, security: list[Any]) -> Schema:
    """Return a GET whose path ends in an id with any characters, percent-encoded."""
    described = _get(name, summary, _JSON, security)
    described["responses"]["200"] = _json_reply("The answer.", _ref(response))
    described["responses"]["404"] = _json_reply(_ERRORS[404], _ref("Error"))
    parameter = {"name": "id", "in": "path", "required": True, "schema": _STRING}
    return {**described, "parameters": [parameter]}


def _json_reply(description: str, schema: Schema | None) -> Schema:
    return {"description": description, "content": _json_content(schema)}


def _json_content(schema: Schema | None) -> Schema:
    return {_JSON: {"schema": schema}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    properties = required | (optional or {})
    return {"type": "object", "required": list(required), "properties": properties}


def _request(route: Route, limits: Limits, **instead: Schema) -> Schema:
    """Return the schema of a request, which has no other fields; all but needed ones may be null.

    Args:
        route: the route of the request.
        limits: the largest values.
        instead: schemas that take the place of those of the table.
    """
    fields = list_fields(route)
    found = {name: _or_null(field, limits) for name, field in fields.items()} | instead
    needed = [name for name, field in fields.items() if field.needed]
    needed += [name for name, schema in instead.items() if schema.get("type") == "array"]
    return {
        "type": "object", "required": needed, "properties": found, "additionalProperties": False,
    }  # fmt: skip


def _or_null(field: Field, limits: Limits) -> Schema:
    schema = field.schema(limits)
    if field.type in (CONDITIONS, FACETS, TEXTS) and not field.needed:
        return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    if field.needed or "type" not in schema:
        return schema
    if field.type is DOCUMENTS:
        return {"anyOf": [schema, _NULL], "description": field.sentence}
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return {**schema, "type": [schema["type"], "null"]}


def _of_texts(limits: Limits, name: str, other: str) -> Schema:
    """Return the schema of a request to rerank, which has texts in one of two fields."""
    texts = list_fields(Route.RERANK)[name].schema(limits)
    return _request(Route.RERANK, limits, **{name: texts, other: _NULL})


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _schemas(limits: Limits) -> Schema:
    name, key = {"type": ["string", "null"]}, {"type": ["string", "integer", "null"]}
    bound = f"at most {limits.explained:,} with explain, highlight, passages or context"
    k = list_fields(Route.RANK)["k"]
    k = k._replace(help=f"{k.help}; {bound}")
    many, few = _or_null(k, limits), _or_null(k._replace(most="explained"), limits)
    span = _object({"begin": _INTEGER, "end": _INTEGER, "value": _NUMBER})
    hit, ranking = schema_of(Hit), schema_of(Ranking, *Ranking.COUNTED)
    hit["properties"] |= {
        "highlights": _object({"title": _list(span), "text": _list(span)}),
        "marks": _object({"title": _list(_PLACE), "snippet": _list(_PLACE)}),
    }
    explained = {each: hit["properties"][each] for each in ("id", "score", "index", "explanation")}
    context = schema_of(Context)
    context["properties"] |= {each: ranking["properties"][each] for each in Ranking.PERHAPS}
    completion = schema_of(Completion)
    completion["properties"]["field"]["type"] = name["type"]
    result = _object(
        {"index": _INTEGER, "relevance_score": _NUMBER}, {"document": _object({"text": _STRING})}
    )
    scored = _object({"index": _INTEGER, "score": _NUMBER}, {"text": _STRING})
    return {
        "Error": {
            "anyOf": [
                _object({"error": _STRING, "error_type": _STRING}),
                _object({"error": _object({"message": _STRING, "type": _STRING, "code": _STRING})}),
            ],
            "description": "Paths that begin with /v1/ have the second form, as OpenAI's.",
        },
        "Stored": schema_of(WholeDocument),
        "Hit": hit,
        "ContextSpan": schema_of(ContextSpan),
        "Count": schema_of(Count),
        "Explanation": schema_of(Explanation),
        "Ranking": ranking,
        "Context": context,
        "Model": _object({"id": _STRING, "object": _STRING}),
        "Document": {"anyOf": [_STRING, _object({"text": _STRING}, {"id": key, "title": name})]},
        "RankRequest": {
            "anyOf": [
                _request(Route.RANK, limits, k=few),
                _request(Route.RANK, limits, k=many, explain=_OFF, highlight=_OFF,
                         passages=_NULL, context=_NULL),
            ]
        },
        "ContextRequest": _request(Route.CONTEXT, limits),
        "ExplainRequest": _request(Route.EXPLAIN, limits),
        "CompleteRequest": _request(Route.COMPLETE, limits),
        "Completions": _object({"query": _STRING, "completions": _list(completion)}),
        "Record": _object({"id": key, "text": _STRING}, {"title": name}),
        "AddRequest": _request(Route.ADD, limits),
        "Added": _object(
            {"added": _INTEGER, "replaced": _INTEGER, "documents": _INTEGER},
            {"skipped": _list(_STRING)},
        ),
        "DeleteRequest": _request(Route.DELETE, limits),
        "Deleted": _object(dict.fromkeys(("deleted", "missing", "documents"), _INTEGER)),
        "Explained": _object(
            {"query": _STRING, **explained}, {"passage": hit["properties"]["passage"]}
        ),
        "Rerank": {
            "anyOf": [
                _of_texts(limits, "documents", "texts"), _of_texts(limits, "texts", "documents"),
            ]
        },
        "EmbeddingsRequest": _request(Route.EMBEDDINGS, limits),
        "EmbedRequest": _request(Route.EMBED, limits),
        "Embeddings": _object(
            {"object": _STRING, "data": _list(_object(
                {"object": _STRING, "index": _INTEGER,
                 "embedding": {"anyOf": [_list(_NUMBER), _STRING]}})),
             "model": _STRING, "usage": _OBJECT},
        ),
        "Vectors": _list(_list(_NUMBER)),
        "Terms": _list(_list(_object({"index": _INTEGER, "value": _NUMBER}))),
        "Reranked": {
            "anyOf": [
                _list(scored),
                _object({"model": _STRING, "results": _list(result), "usage": _OBJECT,
                         "meta": _OBJECT}),
            ]
        },
    }  # fmt: skip
