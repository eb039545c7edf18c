"""Around every request: an id, a line in the log, a count, and headers that all answers have."""

import re
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from os import sysconf
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ranklet.handlers import logs
from ranklet.handlers.server.metrics import Metrics
from ranklet.handlers.server.settings import ServerSettings

CLIENT_GONE = 499  # never sent: how the log names a caller who hung up
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_TRACE = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}|([0-9a-f]{32})(?:/.*)?")
_QUIET = frozenset(("/healthz", "/readyz", "/metrics"))  # asked every few seconds


@dataclass
class Record:
    """What becomes known of a request while it is answered.

    Attributes:
        id: the caller's X-Request-Id, or one of ours.
        stages: (stage, milliseconds), in order.
        error: a fault of ours, for the log.
    """

    id: str
    stages: list[tuple[str, float]] = field(default_factory=list)
    error: BaseException | None = None


class Middleware:
    """An ASGI application around another.

    Args:
        app: answers.
        routes: the paths that are ours.
        metrics: counts.
        settings: of the server.
        draining: whether connections are to end with their answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: frozenset[str],
        metrics: Metrics,
        settings: ServerSettings,
        draining: Callable[[], bool],
    ) -> None:
        self._app, self._routes, self._metrics = app, routes, metrics
        self._settings, self._draining = settings, draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        record = Record(given if _ID.fullmatch(given) else uuid4().hex)
        scope["ranklet.record"] = record
        status = CLIENT_GONE

        async def observed_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == CLIENT_GONE:  # no status of HTTP; nobody reads what takes its place
                    message["status"] = 400
                self._add_headers(MutableHeaders(raw=message["headers"]), record)
            await send(message)

        try:
            await self._app(scope, receive, observed_send)
        except Exception as error:
            record.error = error
            status = 500
            raise
        finally:
            self._told(scope, headers, record, status, perf_counter() - begin)

    def _add_headers(self, headers: MutableHeaders, record: Record) -> None:
        headers["x-request-id"] = record.id
        headers["x-content-type-options"] = "nosniff"
        headers.setdefault("cache-control", "no-store")
        if record.stages:
            timings = (
                f's{at};desc="{_plain(stage)}";dur={ms:.3f}'
                for at, (stage, ms) in enumerate(record.stages)
            )
            headers["server-timing"] = ", ".join(timings)
        if self._draining():
            headers["connection"] = "close"

    def _told(
        self, scope: Scope, headers: Headers, record: Record, status: int, seconds: float
    ) -> None:
        """Count and log; the query is not logged, since it may be personal."""
        path = scope["path"]
        route = path if path in self._routes else "other"
        self._metrics.count(route, status, seconds, record.stages)
        if route in _QUIET and status != 500:
            return
        fields: dict[str, Any] = {
            "request_id": record.id,
            "method": scope["method"],
            "path": path[:200],
            "status": status,
            "ms": round(seconds * 1e3, 3),
        }
        if record.stages:
            fields["stages"] = {stage: round(ms, 3) for stage, ms in record.stages}
        if trace := self._trace(headers):
            fields[logs.TRACE] = trace
        if record.error is not None:
            fields["exception"] = "".join(traceback.format_exception(record.error))
        severity = "ERROR" if status == 500 else "WARNING" if status > 500 else "INFO"
        logs.write(severity, f"{scope['method']} {route} {status}", **fields)

    def _trace(self, headers: Headers) -> str:
        """Return the trace's full name, "" where there is no trace or no project."""
        given = headers.get("traceparent") or headers.get("x-cloud-trace-context", "")
        found = _TRACE.fullmatch(given) if self._settings.project else None
        if not found:
            return ""
        return f"projects/{self._settings.project}/traces/{found[1] or found[2]}"


def _plain(stage: str) -> str:
    """Return a stage's name as a header may hold it."""
    return re.sub(r"[^ -~]|[\"\\]", "", stage)


def resident_bytes() -> int:
    """Return how much memory this process holds, 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * sysconf("SC_PAGE_SIZE")
    return 0
