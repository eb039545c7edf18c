import pytest

from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.fields import ABSENT, Route, fields_of
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import Request, parse


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b'{"query": NaN}',
        b"[" * 100_000,
        b'{"k": ' + b"9" * 5000 + b"}",
        b'{"query": "a", "query": "a"}',
        b'{"where": {"a": [{"b": 1, "b": 2}]}}',
    ],
)
def test_a_body_that_is_not_json_is_malformed(data: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        parse(data)
    status, body = failure(caught.value)
    assert (status, body["error_type"]) == (400, "malformed")


def refused(body: dict[str, object]) -> str:
    with pytest.raises(RequestError) as caught:
        Request(Route.RANK, body, Limits())
    assert caught.value.status == 422
    return str(caught.value)


def test_an_unknown_field_is_named_with_the_nearest_and_all_that_there_are() -> None:
    message = refused({"query": "dough", "pipline": "bm25"})
    assert message.startswith("unknown field 'pipline' (did you mean 'pipeline'?); the fields are ")
    allowed = message.rpartition(" the fields are ")[2].split(", ")
    rows = fields_of(Route.RANK).values()
    assert allowed == [each.name for each in rows if each.type is not ABSENT]
    assert "mean" not in refused({"zzzz": 1})
    assert len(refused({"x" * 100_000: 1})) < 300


def test_a_known_field_that_is_not_supported_has_its_reason() -> None:
    assert refused({"query": "dough", "filter": {"year": 2020}}) == (
        "the field 'filter' is not supported: the filter by metadata is called 'where'"
    )
    assert Request(Route.RANK, {"query": "dough", "filter": None}, Limits())["k"] == 10


def test_a_limit_below_a_default_takes_its_place() -> None:
    assert Request(Route.RANK, {"query": "dough"}, Limits(k=5))["k"] == 5
    assert Request(Route.RANK, {"query": "dough"}, Limits()).at_most("k", 3) == 3
