"""The bounds of a connection, without socket or clock: a test says what arrives, and when."""

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from ranklet.handlers.server.connection import HALF_OPEN_SECONDS, HEAD_BYTES, BoundedProtocol

HEADER, ANSWER, KEEP_ALIVE = 1.0, 2.0, 3  # seconds that nobody waits for
HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\nPadding: %s\r\n\r\n"


def head(size: int) -> bytes:
    """Return a request without a body, of so many bytes."""
    return HEAD % (b"a" * (size - len(HEAD % b"")))


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


READS: list[Callable[[bytes], list[bytes]]] = [
    lambda data: [data],
    lambda data: pieces(data, 65_536),
    lambda data: pieces(data, 1000),
    lambda data: [data[:-1], data[-1:]],
]


class Transport(asyncio.Transport):
    """Keeps what the server writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.closed, self.aborted, self.reading = b"", False, False, True
        self.writes = 0

    def write(self, data: Any) -> None:
        self.written += data
        self.writes += 1

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def statuses(self) -> list[int]:
        """Return the statuses of the answers so far."""
        return [int(each[:3]) for each in self.written.split(b"HTTP/1.1 ")[1:]]


class Timers:
    """An event loop whose timers go off when a test says so; all else is the real one's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.set: list[tuple[float, Callable[[], None]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Any:
        timer = (seconds, call)
        self.set.append(timer)
        return SimpleNamespace(cancel=lambda: self.set.remove(timer))

    def seconds(self) -> list[float]:
        """Return the lengths of the timers that run."""
        return [seconds for seconds, _ in self.set]

    def go_off(self, seconds: float) -> None:
        """Let the one timer of this length go off."""
        (timer,) = (each for each in self.set if each[0] == seconds)
        self.set.remove(timer)
        timer[1]()


class Connection(BoundedProtocol):
    header_seconds = HEADER
    answer_seconds = ANSWER


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


class Echo:
    """Reads each request to its end and answers it; keeps (method, path, names, body) of all."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, list[str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        names = [name.decode() for name, _ in scope["headers"]]
        self.requests.append((scope["method"], scope["path"], names, body))
        await answer(scope, receive, send)


def connected(app: Any = answer) -> tuple[Connection, Transport, Timers]:
    """Return a new connection to an application; to be called where a loop runs."""
    config = uvicorn.Config(app, ws="none", log_config=None, timeout_keep_alive=KEEP_ALIVE)
    transport, timers = Transport(), Timers(asyncio.get_running_loop())
    connection = Connection(config, ServerState(), {}, timers)
    connection.connection_made(transport)
    return connection, transport, timers


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Turn a coroutine into a test."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


async def turns() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def received(connection: Connection, transport: Transport, reads: Iterable[bytes]) -> None:
    """Let reads arrive one by one, each when the server wants to read, until it hangs up."""
    for data in reads:
        await turns()
        assert transport.reading or transport.is_closing()
        if transport.is_closing():
            break
        connection.data_received(data)
    for _ in range(100):
        await turns()


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("size", [100, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 100_000])
def test_a_head_has_the_same_bound_however_it_arrives(
    reads: Callable[[bytes], list[bytes]], size: int
) -> None:
    async def test() -> None:
        connection, transport, _ = connected()
        for _ in range(2):  # of every request
            await received(connection, transport, reads(head(size)))
        wanted = [204, 204] if size <= HEAD_BYTES else [400]
        assert transport.statuses() == wanted
        assert transport.closed == (size > HEAD_BYTES)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"", b"\r\n"),
        (b"GET /", b"a"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX:", b" "),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: a\r\n"),
    ],
    ids=["lines before", "path", "padding", "a chunk's extension", "headers after the body"],
)
@in_a_loop
async def test_nothing_but_a_body_may_be_long(begin: bytes, more: bytes) -> None:
    connection, transport, _ = connected(Echo())
    connection.data_received(begin)
    sent = 0
    while not transport.closed and sent <= HEAD_BYTES:
        connection.data_received(more * 50)
        await turns()
        sent += len(more * 50)
    assert sent > HEAD_BYTES - 500
    assert transport.statuses() == [400]
    assert transport.closed


HOST = b"Host: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
UPGRADE = b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
        b"GET /\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT x:443 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://x HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://y/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://y/ HTTP/1.0\r\n\r\n",
        b"GET http://x:80/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://y@x/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
        "GET /\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET / HTTP/1.1\r\n" + HOST + b"X : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"Content-Length: 3\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +3\r\n\r\nabc",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999999999999\r\n\r\nabc",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + CHUNKED + b"\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n-3\r\nabc\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n3\r\nabcd\r\n0\r\n\r\n",
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
@in_a_loop
async def test_what_could_be_understood_in_two_ways_is_refused(sent: bytes, size: int) -> None:
    echo = Echo()
    connection, transport, _ = connected(echo)
    await received(connection, transport, pieces(sent, size))
    assert (transport.statuses(), transport.closed) == ([400], True)
    assert echo.requests == []


@pytest.mark.parametrize("size", [1, 1000])
@in_a_loop
async def test_a_wish_for_another_protocol_is_ignored_with_a_body_and_without(size: int) -> None:
    # The client of Java's standard library wishes for HTTP/2 in its first request, POST or not.
    echo = Echo()
    connection, transport, _ = connected(echo)
    sent = b"POST /a HTTP/1.1\r\n" + HOST + UPGRADE + b"Content-Length: 3\r\n\r\nabc"
    sent += b"POST /b HTTP/1.1\r\n" + HOST + UPGRADE + CHUNKED + b"\r\n3\r\nabc\r\n0\r\n\r\n"
    sent += b"GET /c HTTP/1.1\r\n" + HOST + UPGRADE + b"\r\n"
    sent += b"GET /d HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    await received(connection, transport, pieces(sent, size))
    assert [(path, body) for _, path, _, body in echo.requests] == [
        ("/a", b"abc"),
        ("/b", b"abc"),
        ("/c", b""),
        ("/d", b""),
    ]
    assert transport.statuses() == [204] * 4
    assert transport.closed  # as HTTP/1.0 wants it


@pytest.mark.parametrize("size", [1, 1000])
@in_a_loop
async def test_a_header_after_the_body_is_no_header_of_the_request(size: int) -> None:
    echo = Echo()
    connection, transport, _ = connected(echo)
    sent = b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n3\r\nabc\r\n0\r\nX-Api-Key: k\r\n\r\n"
    await received(connection, transport, pieces(sent * 2, size))
    assert echo.requests == [("POST", "/", ["host", "transfer-encoding"], b"abc")] * 2


@in_a_loop
async def test_the_time_for_a_head_begins_with_the_connection_and_bytes_do_not_renew_it() -> None:
    connection, transport, timers = connected()
    assert timers.seconds() == [HEADER]
    for byte in HEAD[:20]:
        connection.data_received(bytes([byte]))
    assert timers.seconds() == [HEADER]
    timers.go_off(HEADER)
    assert transport.aborted


@in_a_loop
async def test_a_complete_head_stops_the_timer_and_the_next_head_starts_it() -> None:
    connection, transport, timers = connected()
    connection.data_received(head(100))
    assert timers.seconds() == []
    await turns()
    assert timers.seconds() == [KEEP_ALIVE]
    connection.data_received(b"GET")
    assert timers.seconds() == [HEADER]
    timers.go_off(HEADER)
    assert transport.aborted


@in_a_loop
async def test_a_caller_who_stops_reading_has_a_time_to_go_on() -> None:
    connection, transport, timers = connected()
    connection.pause_writing()
    assert ANSWER in timers.seconds()
    connection.resume_writing()
    assert ANSWER not in timers.seconds()
    connection.pause_writing()
    timers.go_off(ANSWER)
    assert transport.aborted


@in_a_loop
async def test_a_caller_who_sends_no_more_gets_the_answers_that_are_due() -> None:
    connection, transport, timers = connected()
    connection.data_received(head(100) * 2)
    assert connection.eof_received()
    await turns()
    assert transport.statuses() == [204, 204]
    assert transport.closed  # though the caller did not ask for it
    timers.go_off(HALF_OPEN_SECONDS)
    assert not transport.aborted  # however long it is read


@in_a_loop
async def test_the_head_and_the_body_of_an_answer_are_sent_in_one_call() -> None:
    async def greet(_: Any, __: Any, send: Any) -> None:
        headers = [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"dough"})

    connection, transport, _ = connected(greet)
    connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await turns()
    assert transport.written.endswith(b"\r\n\r\ndough")
    assert transport.writes == 1
    connection.data_received(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    await turns()
    assert transport.statuses() == [200, 200]


# Digests of the private classes that `BoundedProtocol` builds on, of the least and of the newest
# version of uvicorn that pyproject.toml allows.
READ = {"0.34": "83fa3aee718ce8de", "0.54": "25975aec77ab7942"}


def test_the_private_classes_of_uvicorn_are_those_that_were_read() -> None:
    inherited = (FlowControl, HttpToolsProtocol, RequestResponseCycle)
    code = "".join(inspect.getsource(each) for each in inherited)
    version = uvicorn.__version__.rpartition(".")[0]
    assert hashlib.sha256(code.encode()).hexdigest()[:16] == READ.get(version), (
        f"uvicorn {uvicorn.__version__} has other classes than connection.py was written "
        "for. Read what changed in flow_control.py and httptools_impl.py, then put the digest here."
    )
