"""The bounds of a connection, without socket or clock: a test says what arrives, and when."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from functools import wraps
from types import SimpleNamespace
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from ranklet.handlers.server.connection import HEAD_BYTES, BoundedHead, BoundedProtocol

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


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("size", [100, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 100_000])
def test_a_head_has_the_same_bound_however_it_arrives(
    reads: Callable[[bytes], list[bytes]], size: int
) -> None:
    connection, event = BoundedHead(), None
    refusal = pytest.raises(h11.RemoteProtocolError) if size > HEAD_BYTES else nullcontext()
    with refusal:
        for data in reads(head(size)):
            connection.receive_data(data)
            event = connection.next_event()
    assert isinstance(event, h11.Request) == (size <= HEAD_BYTES)


def test_only_the_head_is_bounded_and_every_head_is() -> None:
    connection = BoundedHead()
    body = b"b" * 100_000
    first = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + body
    connection.receive_data(first + head(100_000))  # the second request in the same read
    assert isinstance(connection.next_event(), h11.Request)
    assert connection.next_event().data == body
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    connection.send(h11.Response(status_code=204, headers=[]))
    connection.send(h11.EndOfMessage())
    connection.start_next_cycle()
    with pytest.raises(h11.RemoteProtocolError, match="too long"):
        connection.next_event()


class Transport(asyncio.Transport):
    """Keeps what the server writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.closed, self.aborted = b"", False, False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


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


def connected(app: Any = answer) -> tuple[Connection, Transport, Timers]:
    """Return a new connection to an application; to be called where a loop runs."""
    config = uvicorn.Config(app, log_config=None, timeout_keep_alive=KEEP_ALIVE)
    transport, timers = Transport(), Timers(asyncio.get_running_loop())
    connection = Connection(config, ServerState(), {}, timers)
    connection.connection_made(transport)
    return connection, transport, timers


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Turn a coroutine into a test."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


async def turns() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


@in_a_loop
async def test_a_long_head_in_one_read_is_refused_and_the_connection_closed() -> None:
    connection, transport, _ = connected()
    connection.data_received(head(100_000))
    await turns()
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert transport.closed
    connection, transport, _ = connected()
    connection.data_received(head(HEAD_BYTES))
    await turns()
    assert transport.written.startswith(b"HTTP/1.1 204 ")


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
async def test_between_requests_a_connection_is_kept_for_a_time() -> None:
    connection, transport, timers = connected()
    connection.data_received(head(100))
    await turns()
    timers.go_off(KEEP_ALIVE)
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
async def test_a_lost_connection_leaves_no_timer() -> None:
    connection, _, timers = connected()
    connection.pause_writing()
    assert sorted(timers.seconds()) == [HEADER, ANSWER]
    connection.connection_lost(None)
    assert timers.seconds() == []
