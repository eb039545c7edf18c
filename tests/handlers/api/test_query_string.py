"""The query string of a URL as a request."""

import pytest

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.query_string import MOST_FIELDS, request_of


def test_fields_have_the_types_that_a_body_has() -> None:
    text = "query=d%C3%A9j%C3%A0+vu&k=3&min_score=-0.5&explain=true&highlight=false&pipeline="
    text += "&typos=true"
    assert request_of(text.encode()) == {
        "query": "déjà vu", "k": 3, "min_score": -0.5, "explain": True, "highlight": False,
        "pipeline": "", "typos": True,
    }  # fmt: skip
    assert request_of(b'where={"year": {">=": 2020}}') == {"where": {"year": {">=": 2020}}}
    assert request_of(b"") == {}
    assert request_of("query=déjà".encode()) == {"query": "déjà"}  # not every client encodes it
    assert request_of(b"k=3.0&min_score=1e-3") == {"k": 3, "min_score": 0.001}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k=many", "'k' must be a number"),
        *[
            (f"{name}={text}", f"'{name}' must be a number")
            for name in ("k", "offset", "group_size", "min_score")
            for text in ("1_0", "%201", "1+", "٣", "%D9%A3", "010", "%2B5", "1.", ".5", "", "0x1")
        ],
        ("min_score=nan", "'min_score' must be a number"),
        ("min_score=Infinity", "'min_score' must be a number"),
        ("k=" + "9" * 5000, "'k' must be a number"),
        ('where={"a":1,"a":2}', "'a' stands twice"),
        ('where={"a":NaN}', "'where' must be JSON"),
        ("min_score=high", "'min_score' must be a number"),
        ("explain=yes", "'explain' must be true or false"),
        ("syntax=1", "'syntax' must be true or false"),
        ("typos=yes", "'typos' must be true or false"),
        ("where={", "'where' must be JSON"),
        ("where=" + "[" * 5000, "'where' must be JSON"),
        ("k=1&k=2", "'k' occurs twice"),
        ("query=%ff", "not UTF-8"),
        ("query=%ED%A0%BD", "not UTF-8"),
        ("a=1&" * (MOST_FIELDS + 1), f"more than {MOST_FIELDS} fields"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        request_of(text.encode())
