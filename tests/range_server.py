"""A server on this machine that answers ranges of objects, as object storage does, or faultily."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class Requested:
    """A request that arrived."""

    path: str
    wanted: str  # the header Range
    version: str | None  # the header If-Match


@dataclass
class Reply:
    """What the server is about to send; a fault changes it."""

    status: int
    headers: dict[str, str]
    body: bytes
    close: bool = False  # end the connection after the body, however much of it there is


@dataclass
class RangeServer:
    """Serves `objects` until the end of a `with`.

    Attributes:
        objects: contents by path.
        fault: changes a reply; it gets the number of the request, from 1.
        requests: those so far.
        before: is called with the number of each request.
    """

    objects: dict[str, bytes]
    fault: Callable[[int, Reply], None] = lambda _number, _reply: None
    before: Callable[[int], object] = lambda _number: None
    requests: list[Requested] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._lock = Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def address(self, path: str = "/b.zip") -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def reply(self, path: str, headers: Any) -> Reply:
        with self._lock:
            self.requests.append(Requested(path, headers.get("Range", ""), headers.get("If-Match")))
            number = len(self.requests)
        self.before(number)
        made = self._answer(path.partition("?")[0], headers)
        self.fault(number, made)
        return made

    def _answer(self, path: str, headers: Any) -> Reply:
        content = self.objects.get(path)
        if content is None:
            return Reply(404, {}, b"")
        etag = f'"{md5(content).hexdigest()}"'  # noqa: S324
        if headers.get("If-Match") not in (None, etag):
            return Reply(412, {}, b"")
        size, span = len(content), _RANGE.fullmatch(headers.get("Range", ""))
        if span is None:
            return Reply(200, {"ETag": etag}, content)
        first, last = span.groups()
        begin = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first else size
        if begin >= size:
            return Reply(416, {"Content-Range": f"bytes */{size}"}, b"")
        where = {"ETag": etag, "Content-Range": f"bytes {begin}-{end - 1}/{size}"}
        return Reply(206, where, content[begin:end])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: RangeServer

    def do_GET(self) -> None:
        reply = self.owner.reply(self.path, self.headers)
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # the client has hung up
            self.end_headers()
            self.wfile.write(reply.body)
        self.close_connection = reply.close

    def log_message(self, *_: Any) -> None:
        """Write nothing."""
