"""Messages of both generations of the Model Context Protocol, and lines that are none."""

import json
from typing import Any

import pytest

from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.protocol import (
    ABILITIES,
    NO_JSON,
    NO_METHOD,
    NO_REQUEST,
    REVISION,
    SETTLED,
    STATELESS,
    WRONG_PARAMS,
    WRONG_REVISION,
    FaultError,
    Protocol,
    check_revision,
    http_status,
    read,
    refusal,
    written,
)
from ranklet.runtime import Bundle

CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search", "arguments": {"query": "knead the dough"}},
}
STATED = {REVISION: STATELESS[-1], ABILITIES: {}}


def request(**more: Any) -> bytes:
    return json.dumps({**CALL, **more}).encode()


@pytest.mark.parametrize(
    ("line", "identity", "reason"),
    [
        (request().replace(b"knead", b"\\ud83d"), 2, "half a character"),
        (request(id="a").replace(b"search", b"\\udcff"), "a", "half a character"),
        (request(method="\ud800"), 2, "half a character"),
        (request(id="\ud800"), None, "half a character"),
        (request().replace(b'"query"', b'"query": "a", "query"'), None, "'query' stands twice"),
        (request().replace(b"knead", b"\xff"), None, "not UTF-8"),
        (request().replace(b"knead", b"\xed\xa0\xbd"), None, "not UTF-8"),
        (request(params=7), 2, "no message of JSON-RPC"),
        (request(method=7), 2, "no message of JSON-RPC"),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"a": NaN}}', None, "NaN"),
        (b"this is no JSON", None, "not JSON"),
        (b"[" * 100_000, None, "not JSON"),
        (b'{"id": ' + b"9" * 5000 + b"}", None, "not JSON"),
        (b"[]", None, "no message of JSON-RPC"),
        (b"{}", None, "no message of JSON-RPC"),
    ],
)
def test_a_line_that_is_no_message_has_an_answer(line: bytes, identity: Any, reason: str) -> None:
    with pytest.raises(FaultError) as found:
        read(line)
    answer = refusal(found.value)
    assert answer is not None
    assert answer["id"] == identity
    assert reason in answer["error"]["message"]
    assert json.loads(written(answer)) == answer


def test_null_counts_as_absent(bundle: Bundle) -> None:
    protocol = Protocol(lambda: bundle, Limits())
    listed = protocol.answer(read(request(method="tools/list", params=None)))
    assert isinstance(listed, dict)
    assert len(listed["result"]["tools"]) == 3
    called = protocol.answer(read(request(params={"name": "search", "arguments": None})))
    assert isinstance(called, dict)
    assert "'query' is missing" in called["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"a": "\ud800"}},
        {"jsonrpc": "2.0", "method": "tools/list", "params": []},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
def test_nobody_waits_for_the_answer_to_a_notification_or_to_an_answer(
    message: dict[str, Any], bundle: Bundle
) -> None:
    try:
        answer = Protocol(lambda: bundle, Limits()).answer(read(json.dumps(message).encode()))
    except FaultError as fault:
        answer = refusal(fault)
    assert answer is None


def asked(bundle: Bundle, method: str, identity: Any = 1, **params: Any) -> dict[str, Any]:
    """Return a bundle's answer to a request, without what is the same for all."""
    message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
    answer = Protocol(lambda: bundle, Limits()).answer(read(written(message)))
    assert isinstance(answer, dict)
    assert answer.pop("jsonrpc") == "2.0"
    assert answer.pop("id") == identity
    return answer


@pytest.mark.parametrize(
    ("wanted", "settled"),
    [*((each, each) for each in SETTLED), ("2026-07-28", SETTLED[-1]), ("1", SETTLED[0])],
)
def test_a_client_gets_the_newest_revision_that_it_knows(
    bundle: Bundle, wanted: str, settled: str
) -> None:
    result = asked(bundle, "initialize", "a", protocolVersion=wanted)["result"]
    assert result["protocolVersion"] == settled
    assert result["serverInfo"]["name"] == "ranklet"
    assert "resultType" not in result


@pytest.mark.parametrize(
    ("method", "params", "code", "reason"),
    [
        ("resources/list", {}, -32601, "unknown method 'resources/list'; the methods are"),
        ("initialize", {}, -32602, "'protocolVersion' must be a string"),
        ("tools/list", {"cursor": "x"}, -32602, "'cursor' is unknown"),
        ("tools/call", {}, -32602, "'name' must be a string"),
        ("tools/call", {"name": "search", "arguments": [1]}, -32602, "'arguments' an object"),
        ("tools/list", {"_meta": {REVISION: STATELESS[0]}}, -32602, ABILITIES),
        ("tools/list", {"_meta": {**STATED, REVISION: 7}}, -32602, REVISION),
        ("tools/list", {"_meta": {**STATED, REVISION: "2031-01-01"}}, -32022, "'2031-01-01'"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(
    bundle: Bundle, method: str, params: dict[str, Any], code: int, reason: str
) -> None:
    error = asked(bundle, method, **params)["error"]
    assert error["code"] == code
    assert reason in error["message"]


@pytest.mark.parametrize(
    "code", [NO_JSON, NO_REQUEST, NO_METHOD, WRONG_PARAMS, WRONG_REVISION, -32603]
)
def test_an_error_has_the_status_that_the_official_server_gives_it(code: int) -> None:
    from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS

    answer, stated = {"error": {"code": code}}, {"params": {"_meta": STATED}}
    modern = ERROR_CODE_HTTP_STATUS.get(code, 200)
    assert http_status(answer, stated, None) == modern
    assert http_status(answer, {}, STATELESS[0]) == modern
    for header in (None, *SETTLED):
        assert http_status(answer, {"params": None}, header) == 200
    assert http_status({"result": {}}, stated, STATELESS[0]) == 200


@pytest.mark.parametrize("header", ["1999-01-01", "newest", "", "2025/06/18", "2025-06-18, 1"])
def test_an_unknown_revision_is_refused(header: str) -> None:
    with pytest.raises(FaultError, match="unsupported revision") as refused:
        check_revision(header)
    assert "2025-06-18" in refused.value.data["supported"]
    for each in (None, *SETTLED, *STATELESS):
        check_revision(each)
