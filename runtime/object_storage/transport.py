"""What reading an object needs of a protocol, and trying again when a range does not arrive."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ranklet.runtime.ground.errors import RemoteError
from ranklet.runtime.storage.address import Address

ATTEMPTS = 4  # of a range
FIRST_PAUSE = 0.2  # seconds before the second attempt; doubled before each further one
CONNECTIONS = 32  # ranges that are read at the same time

T = TypeVar("T")


class Part(NamedTuple):
    """Some bytes of one version of an object."""

    data: bytes
    begin: int  # the place of the first byte
    size: int  # of the whole object
    etag: str  # the version's name


class BrokenRangeError(Exception):
    """A range did not arrive, and may arrive at the next attempt."""


class ReplacedError(RemoteError):
    """Another version of the object is in its place now."""


class AbsentError(RemoteError):
    """The object does not exist, or may not be read."""


class UnfitRangeError(RemoteError):
    """The server does not answer such a range."""


class Transport(ABC):
    """Reads ranges of one object; shared by all threads.

    Args:
        address: the object's address.
    """

    FORBIDDEN = ""  # what a caller needs who may not read an object

    def __init__(self, address: Address) -> None:
        self.address = address

    def last(self, count: int) -> Part:
        """Return the last bytes of the current version, all of a shorter object.

        Raises:
            RemoteError: it cannot be read.
        """
        try:
            part = self._again(lambda: self._read(f"bytes=-{count}", count, None))
        except UnfitRangeError:  # Azure's blobs, for one, have ranges from the beginning only
            size = self._again(lambda: self._read("bytes=0-0", 1, None)).size
            wanted = f"bytes={max(0, size - count)}-{size - 1}"
            part = self._again(lambda: self._read(wanted, count, None))
        if part.begin + len(part.data) != part.size:
            raise self.refused("its server answered another range than was requested")
        return part

    def range(self, begin: int, end: int, etag: str, *, attempts: int = ATTEMPTS) -> bytes:
        """Return the bytes from `begin` to before `end` of a version.

        Args:
            begin: the place of the first byte.
            end: the place after the last one.
            etag: the version's name.
            attempts: how often a range that does not arrive is requested.

        Raises:
            ReplacedError: another version is there now.
            RemoteError: they cannot be read.
        """

        def read() -> bytes:
            part = self._read(f"bytes={begin}-{end - 1}", end - begin, etag)
            if part.etag != etag:  # a server that ignores If-Match
                raise self.replaced()
            if part.begin != begin or len(part.data) != end - begin:
                raise BrokenRangeError(f"{len(part.data):,} bytes arrived of {end - begin:,}")
            return part.data

        return self._again(read, attempts)

    @abstractmethod
    def _read(self, wanted: str, most: int, etag: str | None) -> Part:
        """Return a range of a version, or of the current one.

        Args:
            wanted: the header, such as ``bytes=0-99``.
            most: how many bytes that are at most.
            etag: the etag of the version; None for the current one.

        Raises:
            BrokenRangeError: it may arrive at the next attempt.
            ReplacedError: another version is there now.
            RemoteError: it cannot be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connections; the next range opens new ones."""

    def _again(self, read: Callable[[], T], attempts: int = ATTEMPTS) -> T:
        pause, attempt = FIRST_PAUSE, 1
        while True:
            try:
                return read()
            except BrokenRangeError as error:
                if attempt >= attempts:
                    raise self.refused(f"{error} (attempt {attempt})") from error
            attempt += 1
            time.sleep(pause)
            pause *= 2

    def refused(self, reason: str, kind: type[RemoteError] = RemoteError) -> RemoteError:
        """Return the error for an object that cannot be read."""
        return kind(f"{self.address} cannot be read: {reason}")

    def replaced(self) -> ReplacedError:
        """Return the error for an object that was replaced."""
        return ReplacedError(f"{self.address} was replaced after it had been opened; load it again")

    def status(self, status: int) -> Exception:
        """Return the error for an HTTP status that is not 206."""
        if status == 412:
            return self.replaced()
        if status in (408, 425, 429) or status >= 500:
            return BrokenRangeError(f"the server answered {status}")
        answered = f"the server answered {status}"
        whole = (
            "its server ignores ranges and sends the whole object; download it and load the file"
        )
        needs = "access denied (401); it needs credentials, or there is no such object"
        forbidden = f"access denied (403), or it does not exist{self.FORBIDDEN}"
        absent = f"there is no such object ({status}); correct the address"
        reasons: dict[int, tuple[str, type[RemoteError]]] = {
            200: (whole, UnfitRangeError),
            400: (answered, UnfitRangeError),
            401: (needs, RemoteError),
            403: (forbidden, AbsentError),
            404: (absent, AbsentError),
            410: (absent, AbsentError),
            416: ("it is empty or shorter than before (416)", UnfitRangeError),
        }
        return self.refused(*reasons.get(status, (answered, RemoteError)))
