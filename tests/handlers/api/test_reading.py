from typing import Any

import pytest

from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.field import ABSENT, Route
from ranklet.handlers.api.fields import list_fields
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import Request, parse, typed
from ranklet.runtime.asks import MAX_PARTS, MAX_WORDS
from ranklet.runtime.syntax.query_syntax import Query

LIMITS = Limits()


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


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse(b'\xef\xbb\xbf{"query": "dough"}') == {"query": "dough"}


def refused(body: dict[str, object]) -> str:
    with pytest.raises(RequestError) as caught:
        Request(Route.RANK, body, Limits())
    assert caught.value.status == 422
    return str(caught.value)


def test_an_unknown_field_is_named_with_the_nearest_and_all_that_there_are() -> None:
    message = refused({"query": "dough", "pipline": "bm25"})
    assert message.startswith("unknown field 'pipline' (did you mean 'pipeline'?); the fields are ")
    allowed = message.rpartition(" the fields are ")[2].split(", ")
    rows = list_fields(Route.RANK).values()
    assert allowed == [each.name for each in rows if each.type is not ABSENT]
    assert "mean" not in refused({"zzzz": 1})
    assert len(refused({"x" * 100_000: 1})) < 400


def test_a_known_field_that_is_not_supported_has_its_reason() -> None:
    assert refused({"query": "dough", "filter": {"year": 2020}}) == (
        "the field 'filter' is not supported: the filter by metadata is called 'where'"
    )
    assert Request(Route.RANK, {"query": "dough", "filter": None}, Limits())["k"] == 10


def test_a_limit_below_a_default_takes_its_place() -> None:
    assert Request(Route.RANK, {"query": "dough"}, Limits(k=5))["k"] == 5
    assert Request(Route.RANK, {"query": "dough"}, Limits()).at_most("k", 3, "") == 3


def read(**body: Any) -> str | Query:
    return typed(Request(Route.RANK, body, LIMITS))


def test_a_plain_query_may_be_as_long_as_ever() -> None:
    text = "-word " * 1000
    assert read(query=text) == text


def test_the_parts_of_a_query_are_limited() -> None:
    parts = [f"-word{number}" for number in range(MAX_PARTS)]
    query = read(query=" ".join(["bread", *parts]), syntax=True)
    assert isinstance(query, Query)
    assert query.parts == MAX_PARTS
    with pytest.raises(RequestError, match="21 phrases, excluded words and prefixes") as refused:
        read(query=" ".join(["bread", *parts, "kne*"]), syntax=True)
    assert refused.value.status == 413


def test_the_words_that_are_corrected_are_limited() -> None:
    text = "/".join(["word"] * MAX_WORDS)
    assert read(query=text, typos=True) == Query(text, typos=True)
    with pytest.raises(RequestError, match="51 words; at most 50 are corrected") as refused:
        read(query=f"{text} word", typos=True)
    assert refused.value.status == 413
    with pytest.raises(RequestError, match="51 words"):
        read(query="_".join(["word"] * 51), typos=True)
    assert read(query=f"{text} word", syntax=True) == Query(f"{text} word")
    with pytest.raises(RequestError, match="51 words; at most 50 are corrected"):
        read(query=f'{text} -"word"', syntax=True, typos=True)
