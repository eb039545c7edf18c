import pytest

from ranklet.handlers.api.allowed import (
    EXPLAIN,
    OF_TEI,
    RANK,
    RERANK,
    UNSUPPORTED,
    UNSUPPORTED_EXPLAIN,
    UNSUPPORTED_RERANK,
    WITHOUT_EFFECT,
    check_fields,
)
from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe


def refused(body: dict[str, object]) -> str:
    with pytest.raises(RequestError) as caught:
        check_fields(body, RANK, UNSUPPORTED)
    assert caught.value.status == 422
    return str(caught.value)


def test_an_unknown_field_is_named_with_the_nearest_and_all_that_there_are() -> None:
    message = refused({"query": "dough", "pipline": "bm25"})
    assert message.startswith("unknown field 'pipline' (did you mean 'pipeline'?); the fields are ")
    assert all(each in message for each in RANK)
    assert "mean" not in refused({"zzzz": 1})
    assert len(refused({"x" * 100_000: 1})) < 300


def test_a_known_field_that_is_not_supported_has_its_reason() -> None:
    assert refused({"filter": {"year": 2020}}) == (
        "the field 'filter' is not supported: the filter by metadata is called 'where'"
    )
    check_fields({"query": "dough", "filter": None}, RANK, UNSUPPORTED)


@pytest.mark.parametrize(
    ("schema", "allowed", "unsupported"),
    [
        ("RankRequest", RANK, UNSUPPORTED),
        ("ExplainRequest", EXPLAIN, UNSUPPORTED_EXPLAIN),
        ("Rerank", (*RERANK, *OF_TEI, *WITHOUT_EFFECT), UNSUPPORTED_RERANK),
    ],
)
def test_openapi_describes_exactly_these_fields(
    schema: str, allowed: tuple[str, ...], unsupported: dict[str, str]
) -> None:
    described = describe(Limits(), keyed=False)["components"]["schemas"][schema]
    for each in described.get("anyOf", [described]):
        assert each["additionalProperties"] is False
        assert set(each["properties"]) == {*allowed, *unsupported}
