"""Read a request's body, with bounds on its type, its size and the time in which it arrives.

Bodies wait for their end, and then for a thread. So all of them together are bounded, too.
"""

import asyncio

from starlette.requests import Request

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import check_coding
from ranklet.handlers.server.shared_counts import SharedCounts

# A body above the limit is read and thrown away up to this many times the limit. If the server hung
# up at once, a caller who sends without reading would never see the answer.
PATIENCE = 8
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
_HELD = ("bodies",)


class Bodies:
    """The bytes of all bodies that processes hold, from the first byte to the end of the answer.

    Args:
        counts: what the processes count together.
        most: the number of bytes that all bodies may have together.
    """

    def __init__(self, counts: SharedCounts, most: int) -> None:
        self._counts, self._most = counts, most
        counts.set(_HELD, 0)  # what a former process held is gone

    def body(self, most: int | None = None) -> "Body":
        """Return an empty body, whose bytes count until its context ends.

        Args:
            most: the bytes that all bodies may have once this one has arrived, if that is less.
        """
        return Body(self, most)

    def take(self, size: int, most: int | None = None) -> bool:
        """Count further bytes, if there is room for them."""
        most = self._most if most is None else min(most, self._most)
        if sum(self._counts.of_all(_HELD)) + size > most:
            return False
        self._counts.add(_HELD, size)
        return True

    def give_back(self, size: int) -> None:
        """Count bytes no more."""
        self._counts.add(_HELD, -size)

    def refusal(self) -> RequestError:
        """Return the error for a body that has no room."""
        return RequestError(
            503,
            f"the bodies of all requests have {self._most:,} bytes, which is all that they may "
            "have together; try again in a second",
        )


class Body:
    """The bytes of one body."""

    def __init__(self, bodies: Bodies, most: int | None = None) -> None:
        self._bodies, self._most, self._parts, self._size = bodies, most, list[bytes](), 0

    def __enter__(self) -> "Body":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all bytes."""
        self._parts.clear()
        self._bodies.give_back(self._size)
        self._size = 0

    async def read(self, request: Request, limits: Limits, wanted: str = JSON) -> bytes:
        """Return the body of a request.

        Raises:
            RequestError: 415: its headers do not say the type that is wanted; 413: it is too large;
                503: all bodies together are; 408: it is too slow.
            ClientDisconnect: the caller hung up.
        """
        headers = {name: value.decode("latin-1") for name, value in request.scope["headers"]}
        media = headers.get(b"content-type", "")
        if media.partition(";")[0].strip().lower() != wanted:
            what = "JSON" if wanted == JSON else "a form"
            raise RequestError(415, f"the body must be {what}, with 'Content-Type: {wanted}'")
        check_coding(media, headers.get(b"content-encoding", ""))
        try:
            async with asyncio.timeout(limits.seconds):
                await self._collect(request, headers.get(b"content-length", ""), limits.body_bytes)
        except TimeoutError as error:
            reason = f"the body did not arrive in {limits.seconds} seconds"
            raise RequestError(408, reason) from error
        self._parts = [b"".join(self._parts)]
        return self._parts[0]

    async def _collect(self, request: Request, announced: str, most: int) -> None:
        """Collect at most so many bytes; `announced` is their number if the head says it."""
        if announced.isdecimal() and int(announced) > most * PATIENCE:
            raise _too_large(most)
        arrived, refusal = 0, None
        async for part in request.stream():
            arrived += len(part)
            if arrived > most:
                refusal = _too_large(most)
            elif refusal is None and not self._bodies.take(len(part), self._most):
                refusal = self._bodies.refusal()
            elif refusal is None:
                self._size += len(part)
                self._parts.append(part)
            if refusal is not None:
                self.clear()
            if arrived > most * PATIENCE:
                break
        if refusal is not None:
            raise refusal


def _too_large(most: int) -> RequestError:
    return RequestError(413, f"the body has more than {most:,} bytes")
