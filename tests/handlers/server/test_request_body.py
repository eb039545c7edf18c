"""A body is bounded in size and time while it arrives."""

import asyncio
import contextlib
import json
import socket
from http.client import HTTPConnection
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import ClientDisconnect, Request

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.server.request_body import PATIENCE, Bodies
from ranklet.handlers.server.shared_counts import SharedCounts

if TYPE_CHECKING:
    from tests.handlers.conftest import Start

JSON = {"content-type": "application/json"}


def requested(parts: list[bytes], headers: dict[str, str] = JSON, ends: bool = True) -> Request:
    """Return a request whose body arrives in parts; then comes its end, or nothing for ever."""
    waiting = iter(parts)

    async def receive() -> dict[str, Any]:
        part = next(waiting, None)
        if part is None and not ends:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": encoded}, receive)


def read_parts(parts: list[bytes], headers: dict[str, str] = JSON, ends: bool = True) -> bytes:
    limits = Limits(body_bytes=1000, seconds=0 if not ends else 3600)
    with Bodies(SharedCounts(), 10_000).body() as body:
        return asyncio.run(body.read(requested(parts, headers, ends), limits))


def refusal(
    parts: list[bytes], headers: dict[str, str] = JSON, ends: bool = True
) -> tuple[Any, ...]:
    with pytest.raises(RequestError) as caught:
        read_parts(parts, headers, ends)
    return caught.value.status, str(caught.value)


def test_a_body_is_read_in_whatever_parts_it_arrives() -> None:
    assert read_parts([b'{"query":', b"", b' "dough"}']) == b'{"query": "dough"}'
    assert read_parts([b"a" * 500, b"b" * 500]) == b"a" * 500 + b"b" * 500
    assert read_parts([]) == b""
    for media in ("application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'):
        assert read_parts([b"{}"], {"content-type": media}) == b"{}"


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "the body must be JSON"),
        ({"content-type": "text/plain"}, "the body must be JSON"),
        ({"content-type": "application/json; charset=utf-16"}, "in UTF-8"),
        ({**JSON, "content-encoding": "gzip"}, "compressed"),
    ],
)
def test_another_type_is_refused(headers: dict[str, str], message: str) -> None:
    status, error = refusal([b"{}"], headers)
    assert status == 415
    assert message in error


def test_a_body_is_counted_while_it_arrives() -> None:
    assert refusal([b"a" * 500, b"b" * 501]) == (413, "the body has more than 1,000 bytes")
    endless = [b" " * 100] * 1000
    assert refusal(endless)[0] == 413
    announced = {**JSON, "content-length": str(1000 * PATIENCE + 1)}
    assert refusal([], announced, ends=False)[0] == 413  # before a byte of it is read


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    assert refusal([b"{"], ends=False) == (408, "the body did not arrive in 0 seconds")


def test_a_caller_who_hangs_up_ends_the_reading() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    headers = [(name.encode(), value.encode()) for name, value in JSON.items()]
    request = Request({"type": "http", "headers": headers}, receive)
    with Bodies(SharedCounts(), 100).body() as body, pytest.raises(ClientDisconnect):
        asyncio.run(body.read(request, Limits()))


def test_bodies_that_never_end_leave_room_for_nobody_else_and_no_memory_is_taken(
    start: "Start",
) -> None:
    variables = {"RANKLET_MAX_BODY_BYTES": "100000", "RANKLET_MAX_BODIES_BYTES": "250000"}
    with start(**variables) as server:
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        half = b" " * 90_000
        framed = (
            b"Content-Length: 100000\r\n\r\n" + half,
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(half) + half,
        )
        with contextlib.ExitStack() as stack:
            for path, body in (*product((b"/rank", b"/mcp"), framed),):
                stack.enter_context(server.open()).sendall(head % path + body)
            full = {"query": "dough", "documents": ["x" * 80_000]}
            server.wait(lambda: server.post("/rank", full).status == 503)
            reply = server.post("/rank", full)
            assert reply.json()["error"].startswith("the bodies of all requests have 250,000 bytes")
            assert reply.headers["retry-after"] == "1"
            assert server.post("/rank", {"query": "dough"}).status == 200
        server.wait(lambda: server.post("/rank", full).status == 200)


def send_a_gigabyte(connection: socket.socket) -> None:
    """Send far more than the buffers of two sockets hold."""
    for _ in range(1 << 18):
        connection.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")


@pytest.mark.slow
def test_a_body_that_is_too_large_is_refused_however_it_is_sent(start: "Start") -> None:
    with start(RANKLET_MAX_BODY_BYTES="1000") as server:
        large = json.dumps({"query": "a" * 2000}).encode()
        reply = server.post("/rank", large)
        assert reply.status == 413
        assert reply.json()["error"] == "the body has more than 1,000 bytes"
        # In pieces, without a length: only counting tells.
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        pieces = iter([b"[", *[b" " * 300] * 10, b"]"])
        connection.request("POST", "/rank", pieces, JSON, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        # In pieces and small enough.
        pieces = iter([b'{"query":', b' "dough"}'])
        connection.request("POST", "/rank", pieces, JSON, encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()
        head = b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        # Endless: the server stops listening.
        with server.open() as endless:
            endless.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            with pytest.raises(ConnectionError):
                send_a_gigabyte(endless)
        # Announced: refused before a byte of it is sent.
        with server.open() as announced:
            announced.sendall(head + b"Content-Length: 99999999999\r\n\r\n")
            assert announced.recv(100).startswith(b"HTTP/1.1 413")
        assert server.post("/rank", {"query": "dough"}).status == 200
