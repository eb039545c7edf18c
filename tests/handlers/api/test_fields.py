"""One row per field, from which all follows that knows of fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from ranklet.handlers.api import fields
from ranklet.handlers.api.field import ABSENT, ANYTHING, FACETS, TEXTS, Field, Route
from ranklet.handlers.api.fields import FIELDS
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.runtime.asks import Ask, ContextAsk, keywords

LIMITS = Limits()
SERVING = Path(__file__).parents[3] / "docs" / "serving.md"
PLACES = {
    Route.RANK: "`/rank`", Route.EXPLAIN: "`/explain`", Route.RERANK: "`/rerank`",
    Route.EMBEDDINGS: "`/v1/embeddings`", Route.EMBED: "`/embed`", Route.SEARCH: "`search` of MCP",
    Route.FETCH: "`fetch` of MCP", Route.ADD: "`POST /documents`",
    Route.DELETE: "`/documents/delete`", Route.REMEMBER: "`remember` of MCP",
    Route.FORGET: "`forget` of MCP", Route.COMPLETE: "`/complete`",
    Route.CONTEXT: "`/context`",
}  # fmt: skip


def forms(schema: str) -> list[dict[str, Any]]:
    described = describe(LIMITS, keyed=False)["components"]["schemas"][schema]
    return list(described.get("anyOf", [described]))


@pytest.mark.parametrize(
    ("schema", "route"),
    [
        ("RankRequest", Route.RANK),
        ("ExplainRequest", Route.EXPLAIN),
        ("CompleteRequest", Route.COMPLETE),
        ("ContextRequest", Route.CONTEXT),
        ("Rerank", Route.RERANK),
        ("EmbeddingsRequest", Route.EMBEDDINGS),
        ("EmbedRequest", Route.EMBED),
        ("AddRequest", Route.ADD),
        ("DeleteRequest", Route.DELETE),
    ],
)
def test_openapi_describes_exactly_the_rows_of_a_route(schema: str, route: Route) -> None:
    for form in forms(schema):
        assert form["additionalProperties"] is False
        assert list(form["properties"]) == list(fields.list_fields(route))


def test_the_page_has_all_rows() -> None:
    """The lines of the table in docs/serving.md, made of the rows; paste those that are missing.

    Options of a search have a page of their own.
    """
    options = {option.about for kind in (Ask, ContextAsk) for option in keywords(kind).values()}
    rows = [each for each in FIELDS if each.help not in options]
    lines = [line_of(each) for each in rows if each.type not in (ABSENT, ANYTHING)]
    assert [each for each in lines if each not in SERVING.read_text("utf-8").splitlines()] == []


WORDS = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
    "object": "object",
}  # fmt: skip


def parse_value(field: Field) -> str:
    """Return in words what a field takes."""
    schema = field.schema(LIMITS)
    if field.type is TEXTS:
        return f"text, or a list of at most {schema['anyOf'][1]['maxItems']:,}"
    if field.type is FACETS:
        return f"list of text, or object, at most {LIMITS.facets:,}"
    if "enum" in schema:
        return " or ".join(schema["enum"])
    if schema["type"] == "array":
        item = schema["items"].get("$ref", "text").rpartition("/")[2]
        return f"list of {item}, at most {schema['maxItems']:,}"
    text = WORDS[schema["type"]]
    if "maxLength" in schema:
        text += f", at most {schema['maxLength']:,} characters"
    if "maximum" in schema and schema["maximum"] < 1e30:  # a bound that nobody needs to know
        text += f" from {schema.get('minimum', 0):,} to {schema['maximum']:,}"
    return text


def line_of(field: Field) -> str:
    places = ", ".join(PLACES[route] for route in field.routes if route in PLACES)
    value = "needed" if field.needed else field.otherwise(LIMITS)
    default = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return f"| `{field.name}` | {places} | {parse_value(field)} | {default} | {field.help} |"
