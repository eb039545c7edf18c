"""Read a request's body, with bounds on its type, its size and the time in which it arrives."""

import asyncio

from starlette.requests import Request

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import check_coding

# A body above the limit is read and thrown away up to this many times the limit. If the server hung
# up at once, a caller who sends without reading would never see the answer.
PATIENCE = 8


async def read(request: Request, limits: Limits) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: 415: its headers do not say JSON; 413: it is too large; 408: it is too slow.
        ClientDisconnect: the caller hung up.
    """
    headers = {name: value.decode("latin-1") for name, value in request.scope["headers"]}
    media = headers.get(b"content-type", "")
    if media.partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "the body must be JSON, with 'Content-Type: application/json'")
    check_coding(media, headers.get(b"content-encoding", ""))
    try:
        async with asyncio.timeout(limits.seconds):
            return await _collect(request, headers.get(b"content-length", ""), limits.body_bytes)
    except TimeoutError as error:
        raise RequestError(408, f"the body did not arrive in {limits.seconds} seconds") from error


async def _collect(request: Request, announced: str, most: int) -> bytes:
    """Return a body of at most so many bytes; `announced` is its length if the head says it."""
    too_large = RequestError(413, f"the body has more than {most:,} bytes")
    if announced.isdecimal() and int(announced) > most * PATIENCE:
        raise too_large
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most * PATIENCE:
            break
        if size <= most:
            parts.append(part)
        else:
            parts.clear()
    if size > most:
        raise too_large
    return b"".join(parts)
