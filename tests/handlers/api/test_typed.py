"""How much of a query is looked up in a collection."""

from typing import Any

import pytest

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.fields import MOST_PARTS, MOST_WORDS, Route
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import Request
from ranklet.handlers.api.typed import typed
from ranklet.runtime.typed.query_syntax import Query

LIMITS = Limits()


def read(**body: Any) -> str | Query:
    return typed(Request(Route.RANK, body, LIMITS))


def test_a_plain_query_may_be_as_long_as_ever() -> None:
    text = "-word " * 1000
    assert read(query=text) == text


def test_the_parts_of_a_query_are_limited() -> None:
    parts = [f"-word{number}" for number in range(MOST_PARTS)]
    query = read(query=" ".join(["bread", *parts]), syntax=True)
    assert isinstance(query, Query)
    assert query.parts == MOST_PARTS
    with pytest.raises(RequestError, match="21 phrases, excluded words and prefixes") as refused:
        read(query=" ".join(["bread", *parts, "kne*"]), syntax=True)
    assert refused.value.status == 413


def test_the_words_that_are_corrected_are_limited() -> None:
    text = "/".join(["word"] * MOST_WORDS)
    assert read(query=text, typos=True) == Query(text, typos=True)
    with pytest.raises(RequestError, match="51 words; at most 50 are corrected") as refused:
        read(query=f"{text} word", typos=True)
    assert refused.value.status == 413
    assert read(query=f"{text} word", syntax=True) == Query(f"{text} word")
    with pytest.raises(RequestError, match="51 words; at most 50 are corrected"):
        read(query=f'{text} -"word"', syntax=True, typos=True)
