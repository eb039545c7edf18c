"""Reading a request's body: its type, its size and its time are bounded while it arrives."""

import asyncio

from starlette.requests import Request

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits

# A caller who sends without reading would never see our answer if we hung up at once; so what is
# too much is still taken in and thrown away, up to a point.
PATIENCE = 8  # times the allowed size


async def read(request: Request, limits: Limits) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: 415: not JSON by its own words; 413: too large; 408: too slow.
        ClientDisconnect: the caller hung up.
    """
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    if media.strip().lower() != "application/json":
        raise RequestError(415, "the body must be JSON, with 'Content-Type: application/json'")
    charset = parameters.lower().replace('"', "").partition("charset=")[2].partition(";")[0].strip()
    if charset not in ("", "utf-8", "utf8"):
        raise RequestError(415, "the body must be JSON in UTF-8")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestError(415, "a compressed body is not read; send it as it is")
    try:
        async with asyncio.timeout(limits.seconds):
            return await _collect(request, limits.body_bytes)
    except TimeoutError as error:
        raise RequestError(408, f"the body did not arrive in {limits.seconds} seconds") from error


async def _collect(request: Request, most: int) -> bytes:
    too_large = RequestError(413, f"the body has more than {most:,} bytes")
    announced = request.headers.get("content-length", "")
    # The request's head is checked by the server, so this is a number where it is there at all.
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
