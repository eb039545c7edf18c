"""HTTP/1.1 connections that bound a request's head in size and slow callers in time."""

import asyncio
import re
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_BYTES = 16 << 10  # the most that request line, headers and the blank line may have together
_HEAD_END = re.compile(rb"\n\r?\n")


class BoundedHead(h11.Connection):
    """A parser of requests that refuses a head of more than `HEAD_BYTES`, however it arrives.

    h11 alone bounds only a head that is still incomplete, so a head that arrives in one read may be
    as long as that read.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD_BYTES)

    def next_event(self) -> Any:
        """Return the next event.

        Raises:
            RemoteProtocolError: The head is too long, or the bytes are not HTTP.
        """
        if self.their_state is h11.IDLE:  # the next bytes are a head
            received, _ = self.trailing_data
            if len(received) > HEAD_BYTES and not _HEAD_END.search(received, 0, HEAD_BYTES):
                raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        return super().next_event()


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with bounds on the size of a head, and on the time to send it and to read an answer.

    uvicorn limits how long a connection idles between two requests. It limits neither how long the
    first request takes to begin, nor how slowly a head arrives, nor how slowly an answer is read,
    so a caller who sends one byte per minute could hold a connection for ever.

    Attributes:
        header_seconds: the time for a head to arrive.
        answer_seconds: the time for a caller who has stopped reading to read on.
    """

    header_seconds: float = 10
    answer_seconds: float = 30

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = BoundedHead()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock for the first head."""
        super().connection_made(transport)
        self._start("head", self.header_seconds)

    def data_received(self, data: bytes) -> None:
        """Stop the clock if the head is complete; start it with the first bytes of the next."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("head")
        elif "head" not in self._timers:
            self._start("head", self.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._stop("head")
        self._stop("answer")
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the clock for a caller who has stopped reading."""
        super().pause_writing()
        self._start("answer", self.answer_seconds)

    def resume_writing(self) -> None:
        """Stop the clock: the caller reads on."""
        self._stop("answer")
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that idled too long between two requests."""
        super().timeout_keep_alive_handler()
        self.transport.abort()  # close() would wait until the caller has read what it never will

    def _start(self, name: str, seconds: float) -> None:
        self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()
