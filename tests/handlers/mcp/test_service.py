"""`ranklet mcp` over standard input and output, through the official client and without it."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from io import BytesIO
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.protocol import Message, Protocol, written
from ranklet.handlers.mcp.service import WRITES, Lines, serve
from ranklet.runtime import Bundle, InputError

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.handlers.conftest import Start

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


def command(bundle: object, *options: str) -> list[str]:
    return [sys.executable, "-m", "ranklet", "mcp", str(bundle), *options]


def talk(place: str | list[str], mode: str, asked: Callable[[Any], Awaitable[Any]]) -> Any:
    """Return what a function of the official client returns; the place is an address or command."""
    pytest.importorskip("mcp")
    from mcp import Client, StdioServerParameters

    async def all_of_it() -> Any:
        server: Any = place
        if not isinstance(place, str):
            program, *arguments = place
            server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
        async with Client(server, mode=mode, read_timeout_seconds=300) as client:
            return await asked(client)

    return asyncio.run(all_of_it())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("remote", [False, True])
def test_the_official_client_finds_and_calls_the_tools(
    built: "Built", bundle: Bundle, start: "Start", mode: str, remote: bool
) -> None:
    async def asked(client: Any) -> tuple[Any, ...]:
        return (
            await client.list_tools(),
            await client.call_tool("search", {"query": QUERY, "k": 2, "pipeline": "bm25"}),
            await client.call_tool("explain", {"query": QUERY, "id": "bread"}),
            await client.call_tool("fetch", {"id": "bread"}),
            *[await client.call_tool("search", wrong) for wrong, _ in WRONG],
            await client.call_tool("find", {}),
        )

    if remote:
        with start() as server:
            listed, found, explained, fetched, *refused = talk(f"{server.url}/mcp", mode, asked)
    else:
        place = command(built.zipped, "--about", "hints for the house")
        listed, found, explained, fetched, *refused = talk(place, mode, asked)
        assert "hints for the house" in listed.tools[0].description
    assert [tool.name for tool in listed.tools] == ["search", "explain", "fetch"]
    hits = bundle.rank(QUERY, k=2, pipeline="bm25")
    assert [each["id"] for each in found.structured_content["hits"]] == [hit.id for hit in hits]
    assert json.loads(found.content[0].text) == found.structured_content
    for result in (explained, fetched):
        assert result.structured_content["title"] == "Baking bread"
    complaints = [*(complaint for _, complaint in WRONG), "unknown tool 'find'"]
    for result, complaint in zip(refused, complaints, strict=True):
        assert result.is_error
        assert complaint in result.content[0].text


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "'query' is missing"),
    ({"query": " ", "tokens": 9}, "query is empty"),
    ({"query": QUERY, "k": "many"}, "'k' must be a whole number"),
    ({"query": QUERY, "pipeline": "none"}, "unknown pipeline 'none'; the bundle has"),
    ({"query": QUERY, "filter": "dough"}, "'filter'"),
]


def test_what_is_no_message_is_answered_and_nothing_else_is_printed(built: "Built") -> None:
    half = json.dumps({**CALL, "id": 7}).replace("knead", "\\ud83d")
    lines = ["this is no JSON", "[]", "", *map(json.dumps, (HANDSHAKE, INITIALIZED)), half,
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


class Slow(Protocol):
    """A protocol whose calls wait until the test lets them end."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__(lambda: bundle, Limits())
        self.end = Event()

    def answer(self, message: Any) -> Any:
        if message["method"] == "tools/call":
            assert self.end.wait(60)
        return super().answer(message)


def test_a_call_waits_for_nobody_and_one_that_is_cancelled_has_no_answer(bundle: Bundle) -> None:
    protocol, ends = Slow(bundle), os.pipe()

    class Given(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            if not line:
                protocol.end.set()
            return line

    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    messages: list[Message] = [
        *({**CALL, "id": each} for each in (2, 3, 3)),
        {"jsonrpc": "2.0", **cancelled},
        {"jsonrpc": "2.0", "method": "ping", "id": 4},
    ]
    Lines(protocol, ends[1], 9_000).run(Given(b"".join(map(written, messages))))
    os.close(ends[1])
    with os.fdopen(ends[0], "rb") as read:
        answers = [json.loads(line) for line in read]
    assert [each["id"] for each in answers] == [3, 4, 3]
    assert "not answered yet" in answers[0]["error"]["message"]
    assert answers[2]["result"]["structuredContent"]["hits"]


def test_searches_go_on_beside_writes_that_wait(bundle: Bundle) -> None:
    end, ends = Event(), os.pipe()

    def elsewhere(_: Any) -> dict[str, Any]:
        assert end.wait(60)
        return {"added": 1, "missing": 0}

    class Given(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            if not line:  # the client waits for the answers to its search and to writes beyond
                found.extend(json.loads(answers.readline()) for _ in range(3))
                end.set()
            return line

    params = {"name": "remember", "arguments": {"text": "a note"}}
    writes = [{**CALL, "id": 10 + at, "params": params} for at in range(3 + WRITES)]
    writer, found = Writer("b.ranklet", elsewhere=elsewhere), list[Any]()
    protocol = Protocol(lambda: bundle, Limits(), writer=writer)
    with os.fdopen(ends[0], "rb") as answers:
        Lines(protocol, ends[1], 9_000).run(Given(b"".join(map(written, [*writes, CALL]))))
        os.close(ends[1])
        late = [json.loads(line)["id"] for line in answers]
    assert {each["id"] for each in found} == {2, 11 + WRITES, 12 + WRITES}
    refused = [each["error"]["message"] for each in found if "error" in each]
    assert refused == ["too many writes are waiting; try again later"] * 2
    assert sorted(late) == [10 + at for at in range(1 + WRITES)]


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


def test_a_bundle_without_a_collection_cannot_be_searched(built: "Built") -> None:
    with pytest.raises(InputError, match="no collection to search"):
        serve(lambda: Bundle(built.exported), Limits())
