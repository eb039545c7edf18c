"""Let the pages of some other sites ask: cross-origin resource sharing (CORS) for RANKLET_ORIGINS.

A browser sends a key only if a page gives it, so no cookie and no other credential is ever allowed.
"""

from collections.abc import Collection, Mapping

from starlette.responses import Response

from ranklet.handlers.server.hosts import ANY, is_of_pages, parsed
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.variables import Variable

_SENT = "authorization, content-type, x-api-key, x-request-id, traceparent, mcp-protocol-version"
_SHOWN = b"x-request-id, server-timing, retry-after, www-authenticate"
_REMEMBERED = "600"  # seconds for which a browser need not ask again whether it may ask


class Origins:
    """The sites whose pages may ask.

    Args:
        allowed: as `read_origins` returns them.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._any = ANY in allowed
        self._allowed = {parsed(each) for each in allowed} - {None}

    def allow(self, origin: str) -> bool:
        """Return whether pages of an origin may ask.

        >>> Origins(["https://app.example"]).allow("https://APP.example:443")
        True
        """
        return self._any or (bool(self._allowed) and parsed(origin) in self._allowed)

    def headers(self, request: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        """Return the headers that let a browser show an answer to the page that asked."""
        if self._any:
            return [(b"access-control-allow-origin", b"*"), _exposed()]
        if not self._allowed:
            return []
        vary, origin = (b"vary", b"origin"), request.get("origin", "")
        if not self.allow(origin):
            return [vary]
        return [vary, (b"access-control-allow-origin", origin.encode("latin-1")), _exposed()]

    def preflight(self, request: Mapping[str, str]) -> Response | None:
        """Return the answer to a browser that asks whether a page may ask; None if it may not."""
        if "access-control-request-method" not in request or not self.allow(
            request.get("origin", "")
        ):
            return None
        allowed = {
            "access-control-allow-methods": "GET, POST, DELETE",
            "access-control-allow-headers": _SENT,
            "access-control-max-age": _REMEMBERED,
        }
        return Response(status_code=204, headers=allowed)


def _exposed() -> tuple[bytes, bytes]:
    return b"access-control-expose-headers", _SHOWN


def read_origins(text: str) -> tuple[str, ...]:
    """Return the origins in a variable, which commas separate.

    Raises:
        InputError: one of them is no origin.
    """
    origins = tuple(each.strip().removesuffix("/") for each in text.split(",")) if text else ()
    for origin in origins:
        if origin != ANY and not is_of_pages(origin):
            raise InputError(
                f"{Variable.ORIGINS} has {origin[:80]!r}; give schemes and hosts, with commas "
                "between, such as https://app.example,http://localhost:3000,app://obsidian.md, or "
                "* for every site; a subdomain is another one"
            )
    return origins
