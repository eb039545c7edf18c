"""One row per field, from which all follows that knows of fields."""

from typing import Any

import pytest

from ranklet.handlers.api import fields
from ranklet.handlers.api.field import Route
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.playground.api_page import list_rows

LIMITS = Limits()


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


def test_k_has_its_true_limit() -> None:
    costly, plain = (form["properties"]["k"] for form in forms("RankRequest"))
    assert (costly["maximum"], plain["maximum"]) == (LIMITS.explained, LIMITS.k)
    assert "at most 100 with explain, highlight" in plain["description"]
    shown = {name: value for name, value, *_ in list_rows(
        describe(LIMITS, keyed=False)["paths"]["/rank"]["post"], describe(LIMITS, keyed=False)
    )}  # fmt: skip
    assert shown["k"] == "whole number, 0 to 1,000"
