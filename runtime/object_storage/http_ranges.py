"""Ranges of an object over HTTP or HTTPS, by connections that are kept for the next range."""

import http.client
import os
import re
from collections.abc import Mapping
from threading import Lock
from urllib.parse import SplitResult, urljoin, urlsplit

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.object_storage.transport import BrokenRangeError, Part, Transport
from ranklet.runtime.storage.address import HTTP, Address
from ranklet.version import __version__

TIMEOUT = 20.0  # seconds without an answer or a further byte
REDIRECTS = 5  # at most, one after the other
_REDIRECTED = (301, 302, 303, 307, 308)
_EXPIRED = (400, 401, 403, 404, 410)  # from where a redirection led before, which may expire
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class HTTPRanges(Transport):
    """Reads ranges from an HTTP server.

    Args:
        address: ``https://…`` or ``http://…``.

    Raises:
        InputError: the address is malformed or has a password.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._first = self._check_address(address.raw)
        self._target = self._first  # where a redirection led
        self._idle: list[tuple[SplitResult, http.client.HTTPConnection]] = []
        self._lock, self._process = Lock(), os.getpid()

    def _check_address(self, address: str) -> SplitResult:
        try:
            parts = urlsplit(address)
            fits = parts.scheme in HTTP and bool(parts.hostname) and parts.port != 0
            # What a connection would refuse: parts of a name that are empty or too long, a zone.
            http.client.HTTPConnection(parts.hostname or "", parts.port).host.encode("idna")
        except (ValueError, http.client.InvalidURL):
            fits = False
        if not fits or not address.isascii() or not address.isprintable() or " " in address:
            raise InputError(
                f"{str(self.address)[:200]!r} is no address; give https://host/path, with spaces "
                "and letters beyond ASCII as %20 or %C3%BC"
            )
        if "@" in parts.netloc:
            raise InputError(
                "an address may not contain a user name or a password, which messages would show; "
                "use an address that is signed by a query string"
            )
        return parts

    def _read(self, wanted: str, most: int, etag: str | None) -> Part:
        headers = {
            "Range": wanted,
            "Accept-Encoding": "identity",
            "User-Agent": f"ranklet/{__version__}",
        }
        if etag is not None and not etag.startswith("W/"):  # a weak one matches nothing
            headers["If-Match"] = etag
        target = self._target
        for hop in range(REDIRECTS):
            part = self._answer(target, headers, most)
            if isinstance(part, Part):
                self._target = target
                return part
            status, location = part
            if status not in _REDIRECTED:
                if not hop and target is not self._first and status in _EXPIRED:
                    target = self._target = self._first
                    continue
                # A server that ignores If-Match says only that the object has become shorter.
                raise self.replaced() if status == 416 and etag else self.status(status)
            try:
                following = self._check_address(urljoin(target.geturl(), location))
            except ValueError as error:
                raise self.refused("it is redirected to what is no address") from error
            if target.scheme == "https" and following.scheme != "https":
                raise self.refused("it is redirected from https to http")
            target = following
        raise self.refused(f"it is redirected more than {REDIRECTS} times")

    def _answer(
        self, target: SplitResult, headers: Mapping[str, str], most: int
    ) -> Part | tuple[int, str]:
        """Return a range, or another status and the place where a redirection leads."""
        while True:
            connection, kept = self._connection(target)
            path = (target.path or "/") + (f"?{target.query}" if target.query else "")
            try:
                connection.request("GET", path, headers=dict(headers))
                answer = connection.getresponse()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                # A server may close an idle connection, which shows only when it is used again.
                if kept and not isinstance(error, TimeoutError):
                    continue
                raise BrokenRangeError(f"{type(error).__name__}: {error}") from error
            try:
                if answer.status != 206:
                    connection.close()  # what follows is not read
                    return answer.status, answer.headers.get("Location", "")
                part = self._part(answer, most)
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                raise BrokenRangeError(f"{type(error).__name__}: {error}") from error
            except BaseException:
                connection.close()
                raise
            if answer.isclosed() and not answer.will_close:
                with self._lock:
                    self._idle.append((target, connection))
            else:
                connection.close()
            return part

    def _part(self, answer: http.client.HTTPResponse, most: int) -> Part:
        span = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if span is None:
            raise self.refused("its server does not say which range it sends (Content-Range)")
        begin, last, size = map(int, span.groups())
        etag = answer.headers.get("ETag", "")
        if not etag:
            raise self.refused(
                "its server sends no ETag, by which a changed object is recognised; download it "
                "and load the file"
            )
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise self.refused("its server sends it compressed, although this was not requested")
        if not 0 <= last + 1 - begin <= most:
            raise self.refused("its server answered another range than was requested")
        data = answer.read(last + 1 - begin)
        if not answer.isclosed() and answer.read(1):
            raise BrokenRangeError("more bytes arrived than were announced")
        if len(data) != last + 1 - begin:
            raise BrokenRangeError(f"{len(data):,} bytes arrived of {last + 1 - begin:,}")
        return Part(data, begin, size, etag)

    def _connection(self, target: SplitResult) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection to a host, and whether it was used before."""
        with self._lock:
            if self._process != os.getpid():  # two processes must not share a connection
                self._idle, self._process = [], os.getpid()
            for place in reversed(range(len(self._idle))):
                known, connection = self._idle[place]
                if (known.scheme, known.netloc) == (target.scheme, target.netloc):
                    del self._idle[place]
                    return connection, True
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        host = target.hostname or ""
        return kinds[target.scheme](host, target.port, timeout=TIMEOUT), False

    def close(self) -> None:
        """Close the connections; the next range opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()
