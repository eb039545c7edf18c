"""HTTP/1.1 connections that bound a request's head in size and slow callers in time."""

import asyncio
import json
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ranklet.handlers.api.errors import error_body

HEAD_BYTES = 16 << 10  # the most that request line, headers and the blank line may have together
# The parser gets no more bytes at once. It cannot stop after a request, so it takes all requests
# that these bytes hold, and each needs a hundred times its bytes of memory until it is answered.
PIECE_BYTES = 1 << 10
HALF_OPEN_SECONDS = 0.3  # how long an answer is due to a caller who sends no more
REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 with bounds on the size of a head, and on the time to send it and to read an answer.

    uvicorn bounds no head. It limits how long a connection idles between two requests, but neither
    how long the first request takes to begin, nor how slowly a head arrives, nor how slowly an
    answer is read, so a caller who sends one byte per minute could hold a connection for ever. And
    it parses all requests that arrive before the first of them is answered. Here, the bytes after a
    request wait until it is answered, and nothing more is read meanwhile.

    Attributes:
        header_seconds: the time for a head to arrive.
        answer_seconds: the time for a caller who has stopped reading to read on.
        most: how many connections may be open.
        busy: the application that answers on those that are too many.
    """

    header_seconds: float = 10
    answer_seconds: float = 30
    most: int = 0
    busy: Any = None
    flow: "_Flow"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unparsed = bytearray()
        self._unproductive = 0  # bytes that were parsed since the last head was complete
        self._in_body = False
        self._refused = ""  # why the last request is not answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock for the first head."""
        super().connection_made(transport)
        self.flow = _Flow(transport)
        if self.busy is not None and len(self.connections) > self.most:  # this one is among them
            self.app = self.busy
        self._start("head", self.header_seconds)

    def data_received(self, data: bytes) -> None:
        """Parse what arrives, or keep it while a request is being answered."""
        self._unset_keepalive_if_required()
        self._unparsed += data
        self._parse()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Stay half open for a moment if an answer is due.

        A caller who has only closed its own side, as `nc -N` does, cannot be told from one who has
        hung up.
        """
        if due := self._complete():
            self.cycle.keep_alive = False
            self._timers["end"] = self.loop.call_later(HALF_OPEN_SECONDS, self._give_up)
        return due

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        for name in tuple(self._timers):
            self._stop(name)
        self._unparsed.clear()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Begin to answer a request.

        Raises:
            ValueError: servers and proxies do not all understand it alike.
        """
        version = self.parser.get_http_version()
        _check(self.parser.get_method(), version, self.url, self.headers)
        if self.parser.should_upgrade():  # its body is still to be found; see `_feed`
            return
        super().on_headers_complete()
        self.cycle.transport = _Answer(self.transport, self.cycle)
        self._unproductive, self._in_body = 0, True
        self.headers = []  # no header after the body comes to those that were checked

    def on_body(self, body: bytes) -> None:
        """Add a part of the body to the request."""
        self._unproductive = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body; the next bytes are a head."""
        if not self.parser.should_upgrade():
            self._unproductive, self._in_body = 0, False
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with what has arrived meanwhile."""
        last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if last and self._refused:
            self.send_400_response(self._refused)
        elif self._unparsed:
            self._unset_keepalive_if_required()
            self._parse()

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

    def _parse(self) -> None:
        """Parse until a request is complete, and read on if nothing is left."""
        while self._unparsed and not self._complete():
            self._feed()
        self.flow.hold(bool(self._refused or self._unparsed))
        if self._answering():
            self._stop("head")
        elif "head" not in self._timers:
            self._start("head", self.header_seconds)

    def _feed(self) -> None:
        """Parse the next bytes."""
        size = min(PIECE_BYTES, HEAD_BYTES - self._unproductive)
        piece = bytes(self._unparsed[:size])
        del self._unparsed[: len(piece)]
        self._unproductive += len(piece)
        try:
            if not piece:
                raise httptools.HttpParserError(
                    f"its head has more than {HEAD_BYTES:,} bytes; POST what is long"
                )
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            # This server speaks HTTP/1.1 only, and may ignore a wish for another protocol. But the
            # parser takes the body for the other protocol, so the head is parsed without the wish.
            self._unparsed[:0] = self._head_without_upgrade() + piece[upgrade.args[0] :]
            self._unproductive, self.parser = 0, httptools.HttpRequestParser(self)
        except httptools.HttpParserError as error:
            self._refuse(f"the request is refused: {error.__context__ or error}")

    def _head_without_upgrade(self) -> bytes:
        """Return the last head without its wish for another protocol."""
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            kept = value
            if name == b"connection":
                tokens = [each.strip() for each in value.split(b",")]
                kept = b",".join(each for each in tokens if each.lower() != b"upgrade")
            if name != b"upgrade":
                lines.append(name + b":" + kept)
        return b"\r\n".join([*lines, b"\r\n"])

    def send_400_response(self, msg: str) -> None:
        """Answer as all errors are, and close."""
        body = json.dumps(error_body(400, msg)).encode()
        self.transport.write(REFUSAL % len(body) + body)
        self.transport.close()

    def _refuse(self, reason: str) -> None:
        """Answer 400 and close, but first let the requests that came before be answered."""
        self.logger.warning(reason)
        earlier, self._refused = self._complete(), reason
        self._unparsed.clear()
        if self._in_body:  # the faulty request gets no other answer
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.pipeline:
                self.pipeline.popleft()
        if not earlier:
            self.send_400_response(reason)

    def _give_up(self) -> None:
        """Close unless all answers are made; the last one closes when it is read."""
        if self._complete():
            self.transport.abort()

    def _complete(self) -> bool:
        """Return whether a request has arrived whole and is not answered yet."""
        return bool(self.pipeline) or (self._answering() and not self.cycle.more_body)

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start(self, name: str, seconds: float) -> None:
        self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()


class _Answer(asyncio.Transport):
    """What an answer is written to: its head is sent with the first part of its body, in one call.

    Args:
        transport: what sends.
        cycle: the request and its answer.
    """

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        super().__init__()
        self._transport, self._cycle = transport, cycle
        self._head: bytes | None = None

    def is_closing(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._transport.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send a part of the answer, or keep it if it is a head that a body follows."""
        whole = self._cycle.scope["method"] == "HEAD" or not self._cycle.response_started
        if self._head is None and not whole:
            self._head = bytes(data)
        else:
            self._transport.write((self._head or b"") + data)
            self._head = b""

    def close(self) -> None:
        """Send what is kept, and close."""
        self._transport.write(self._head or b"")
        self._transport.close()


class _Flow(FlowControl):
    """Reads nothing on while it is held, whoever wants to read on."""

    _held = False

    def hold(self, held: bool) -> None:
        """Stop reading, or go on."""
        if held:
            self.pause_reading()
        before, self._held = self._held, held
        if before and not held:
            self.resume_reading()

    def resume_reading(self) -> None:
        """Go on reading, unless it is held."""
        if not self._held:
            super().resume_reading()


def _check(method: bytes, version: str, target: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Check what the parser does not.

    Raises:
        ValueError: servers and proxies may understand the request differently.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if (version, len(hosts)) not in (("1.1", 1), ("1.0", 1), ("1.0", 0)):
        raise ValueError("it needs one Host header, and the version 1.0 or 1.1 of HTTP")
    if not target.startswith((b"/", b"*")):  # a whole URL, whose host must be the header's
        place = target.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
        if [place.lower()] != [host.lower() for host in hosts]:
            raise ValueError("the request names two hosts")
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if codings not in ([], [b"chunked"]):
        raise ValueError("no other coding than chunked is known")
    if method == b"CONNECT":
        raise ValueError("this is no proxy")
