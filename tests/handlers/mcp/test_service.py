"""`ranklet mcp` over standard input and output, through the official client and without it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.service import fault, serve
from ranklet.runtime import Bundle, InputError

if TYPE_CHECKING:
    from tests.conftest import Built

QUERY = "knead the dough, feed the starter, patch the tyre"
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search", "arguments": {"query": QUERY}},
}

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def protocol() -> None:
    pytest.importorskip("mcp_types")


def command(bundle: object, *options: str) -> list[str]:
    return [sys.executable, "-m", "ranklet", "mcp", str(bundle), *options]


def talk(bundle: object, mode: str, asked: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start a server, and return what a function of the official client returns."""
    from mcp import Client, StdioServerParameters

    program, *arguments = command(bundle, "--about", "hints for the house")
    parameters = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))

    async def all_of_it() -> Any:
        async with Client(parameters, mode=mode, read_timeout_seconds=300) as client:
            return await asked(client)

    return asyncio.run(all_of_it())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_finds_and_calls_the_tools(
    built: "Built", bundle: Bundle, mode: str
) -> None:
    async def asked(client: Any) -> tuple[Any, ...]:
        return (
            await client.list_tools(),
            await client.call_tool("search", {"query": QUERY, "k": 2, "pipeline": "bm25"}),
            await client.call_tool("explain", {"query": QUERY, "id": "bread"}),
            *[await client.call_tool("search", wrong) for wrong, _ in WRONG],
            await client.call_tool("find", {}),
        )

    listed, found, explained, *refused = talk(built.zipped, mode, asked)
    assert [tool.name for tool in listed.tools] == ["search", "explain"]
    assert "hints for the house" in listed.tools[0].description
    hits = bundle.rank(QUERY, k=2, pipeline="bm25")
    assert [each["id"] for each in found.structured_content["hits"]] == [hit.id for hit in hits]
    assert json.loads(found.content[0].text) == found.structured_content
    assert explained.structured_content["title"] == "Baking bread"
    complaints = [*(complaint for _, complaint in WRONG), "unknown tool 'find'"]
    for result, complaint in zip(refused, complaints, strict=True):
        assert result.is_error
        assert complaint in result.content[0].text


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "'query' is missing"),
    ({"query": " "}, "'query' is empty"),
    ({"query": QUERY, "k": "many"}, "'k' must be a whole number"),
    ({"query": QUERY, "pipeline": "none"}, "unknown pipeline 'none'; the bundle has"),
    ({"query": QUERY, "filter": "dough"}, "'filter'"),
]


def test_what_is_no_message_is_answered_and_nothing_else_is_printed(built: "Built") -> None:
    half = json.dumps({**CALL, "id": 7}).replace("knead", "\\ud83d")
    lines = ["this is no JSON", "[1, 2]", "", *map(json.dumps, (HANDSHAKE, INITIALIZED)), half,
             json.dumps(CALL)]  # fmt: skip
    with subprocess.Popen(
        command(built.fused), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        answers: dict[object, Any] = {}
        while 2 not in answers:
            answer = json.loads(process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            answers[answer.get("id")] = answer
        rest, errors = process.communicate(timeout=300)
    assert answers[1]["result"]["serverInfo"]["name"] == "ranklet"
    assert answers[2]["result"]["structuredContent"]["hits"]
    assert "half a character" in answers[7]["error"]["message"]
    assert "no message" in answers[None]["error"]["message"]
    assert (rest, process.returncode) == ("", 0)
    assert "Traceback" not in errors


def request(**more: Any) -> bytes:
    return json.dumps({**CALL, **more}).encode()


@pytest.mark.parametrize(
    ("line", "identity", "reason"),
    [
        (request().replace(b"knead", b"\\ud83d"), 2, "half a character"),
        (request(id="a").replace(b"search", b"\\udcff"), "a", "half a character"),
        (request(method="\ud800"), 2, "half a character"),
        (request(id="\ud800"), None, "half a character"),
        (request().replace(b'"query"', b'"query": "a", "query"'), 2, "'query' stands twice"),
        (request().replace(b"knead", b"\xff"), 2, "not UTF-8"),
        (request().replace(b"knead", b"\xed\xa0\xbd"), 2, "not UTF-8"),
        (request(params=7), 2, "no message of JSON-RPC"),
        (request(method=7), 2, "no message of JSON-RPC"),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"a": NaN}}', 3, "NaN"),
        (b"this is no JSON", None, "not JSON"),
        (b"[" * 100_000, None, "not JSON"),
        (b'{"id": ' + b"9" * 5000 + b"}", None, "not JSON"),
        (b"[1, 2]", None, "no message of JSON-RPC"),
        (b"{}", None, "no message of JSON-RPC"),
    ],
)
def test_a_line_that_is_no_message_has_an_answer(line: bytes, identity: Any, reason: str) -> None:
    answer = fault(line)
    assert answer is not None
    assert answer.id == identity
    assert reason in answer.error.message
    answer.model_dump_json().encode()


def test_a_message_has_none_and_nobody_waits_for_a_notification() -> None:
    half = json.dumps({**INITIALIZED, "params": {"a": "\ud800"}})
    for line in (request(), json.dumps(INITIALIZED).encode(), half.encode()):
        assert fault(line) is None


def test_a_killed_client_leaves_no_server_behind(built: "Built") -> None:
    process = subprocess.Popen(
        command(built.fused), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(f"{json.dumps(HANDSHAKE)}\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    # What the kernel does for a process that is killed: both of its ends are closed, one of them
    # while an answer is due.
    process.stdout.close()
    process.stdin.write(f"{json.dumps(INITIALIZED)}\n{json.dumps(CALL)}\n")
    process.stdin.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=300) == 0
    assert errors == ""


def test_a_signal_ends_a_waiting_server(built: "Built") -> None:
    with subprocess.Popen(
        command(built.fused), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(HANDSHAKE)}\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=300) == -signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_bundle_without_a_collection_cannot_be_searched(built: "Built") -> None:
    with pytest.raises(InputError, match="no collection to search"):
        serve(Bundle(built.exported), Limits())
