import pytest

from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.fields import parse


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
