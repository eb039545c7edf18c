"""A plain HTTP server of one file that delays each answer: ``python delayed_server.py FILE``.

It prints its port. ``GET /MS/NAME`` answers after MS milliseconds, whatever the name, with the
range that was requested. It runs in a process of its own, so that its work is not the client's.
"""

import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class Handler(BaseHTTPRequestHandler):
    """Answers requests for the file."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    file: Path

    def do_GET(self) -> None:
        """Send the range, or the whole file if none is named."""
        time.sleep(int(self.path.split("/")[1]) / 1e3)
        status = self.file.stat()
        etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
        if self.headers.get("If-Match", etag) != etag:
            self._begin(412, etag, 0)
            return
        size, span = status.st_size, _RANGE.fullmatch(self.headers.get("Range", ""))
        begin, end = 0, size
        if span is not None:
            first, last = span.groups()
            begin = int(first) if first else max(0, size - int(last))
            end = min(size, int(last) + 1) if first and last else size
        where = "" if span is None else f"bytes {begin}-{end - 1}/{size}"
        self._begin(200 if span is None else 206, etag, end - begin, where)
        with self.file.open("rb") as file:
            at = begin
            while at < end:
                at += os.sendfile(self.connection.fileno(), file.fileno(), at, end - at)

    def _begin(self, status: int, etag: str, length: int, where: str = "") -> None:
        self.send_response(status)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(length))
        if where:
            self.send_header("Content-Range", where)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write nothing."""


class Server(ThreadingHTTPServer):
    """A server with a thread per connection, for many that come at once."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve until the process ends."""
    Handler.file = Path(sys.argv[1])
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
