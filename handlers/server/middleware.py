"""Give every request an id, a line in the log, a count in the metrics, and common headers."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ranklet.handlers import logs
from ranklet.handlers.server.metrics import Metrics
from ranklet.handlers.server.origins import Origins
from ranklet.handlers.server.settings import ServerSettings
from ranklet.runtime.ground.tracing import request_span, trace_end

CLIENT_GONE = 499  # the log's status for a caller who hung up; never sent
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_TRACE = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}|([0-9a-f]{32})(?:/.*)?")
_UNQUOTABLE = re.compile(r"[^ -~]|[\"\\]")  # what a header's quoted string cannot hold
_EVERYWHERE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
NAMED = ("/documents/{id}", "/v1/models/{id}")  # routes that end in any text
_PAGES = frozenset({"/docs"})  # whose links are relative
# Requested every few seconds.
_NOT_LOGGED = frozenset({"/healthz", "/readyz", "/health", "/metrics"})


@dataclass
class Record:
    """The headers of a request that is being answered, and what the log will say about it.

    Attributes:
        id: the caller's X-Request-Id, or a new one.
        headers: by their names in lower case.
        stages: (stage, milliseconds), in order.
        error: a fault of the server, for the log only.
    """

    id: str
    headers: Mapping[str, str]
    stages: list[tuple[str, float]] = field(default_factory=list)
    error: BaseException | None = None


class Middleware:
    """An ASGI application that wraps another. The scope's "ranklet.record" holds the `Record`.

    Each answer closes its connection while `draining` returns true.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: frozenset[str],
        metrics: Metrics,
        settings: ServerSettings,
        draining: Callable[[], bool],
        origins: Origins,
    ) -> None:
        self._app, self._routes, self._metrics = app, routes, metrics
        self._settings, self._draining, self._origins = settings, draining, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = _without_prefix(scope["path"], self._settings.prefix)
        scope["path"] = self._without_slash(scope["method"], path)
        begin = perf_counter()
        every = reversed(scope["headers"])  # of equal names the first counts
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in every}
        own_id = headers.get("x-request-id", "")
        record = Record(own_id if _ID.fullmatch(own_id) else os.urandom(16).hex(), headers)
        scope["ranklet.record"] = record
        status = CLIENT_GONE

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == CLIENT_GONE:  # not a status of HTTP; nobody reads its substitute
                    message["status"] = 400
                self._add_headers(message["headers"], record)
                message["headers"] += self._origins.headers(headers)
            await send(message)

        route = self._route(scope["path"])
        try:
            with request_span(f"{scope['method']} {route}", headers) as span:
                await self._app(scope, receive, send_with_headers)
                if span:
                    trace_end(span, status)
        except Exception as error:
            record.error = error
            status = 500
            raise
        finally:
            self._count_and_log(scope, route, headers, record, status, perf_counter() - begin)

    def _without_slash(self, method: str, path: str) -> str:
        """Return a path without slashes at its end, unless these are an id or matter to a page."""
        bare = path.rstrip("/")
        if bare not in self._routes or bare in _PAGES:
            return path
        return path if method != "POST" and path.startswith("/documents/") else bare

    def _route(self, path: str) -> str:
        """Return the route that a path has, so that no id makes a label."""
        if path in self._routes:
            return path
        return next((each for each in NAMED if path.startswith(each[: each.index("{")])), "other")

    def _add_headers(self, headers: list[tuple[bytes, bytes]], record: Record) -> None:
        given = {name for name, _ in headers}
        headers.append((b"x-request-id", record.id.encode()))
        headers += [each for each in _EVERYWHERE if each[0] not in given]
        if record.stages:
            timings = (
                f's{at};desc="{_quotable(stage)}";dur={ms:.3f}'
                for at, (stage, ms) in enumerate(record.stages)
            )
            headers.append((b"server-timing", ", ".join(timings).encode()))
        if self._draining() and b"connection" not in given:
            headers.append((b"connection", b"close"))

    def _count_and_log(
        self,
        scope: Scope,
        route: str,
        headers: Mapping[str, str],
        record: Record,
        status: int,
        seconds: float,
    ) -> None:
        """Count and log a request. The query is not logged because it may be personal."""
        self._metrics.count(route, status, seconds, record.stages)
        if route in _NOT_LOGGED and status != 500:
            return
        fields: dict[str, Any] = {
            "request_id": record.id,
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(seconds * 1e3, 3),
        }
        if record.stages:
            fields["stages"] = {stage: round(ms, 3) for stage, ms in record.stages}
        if trace := self._trace(headers):
            fields[logs.TRACE] = trace
        if record.error is not None:
            fields["exception"] = logs.describe_stack(record.error)
        severity = "ERROR" if status == 500 else "WARNING" if status > 500 else "INFO"
        logs.write(severity, f"{scope['method']} {route} {status}", **fields)

    def _trace(self, headers: Mapping[str, str]) -> str:
        """Return the full name of the request's trace, or "" without a trace or a project."""
        if not self._settings.project:
            return ""
        header = headers.get("traceparent") or headers.get("x-cloud-trace-context", "")
        match = _TRACE.fullmatch(header)
        if not match:
            return ""
        return f"projects/{self._settings.project}/traces/{match[1] or match[2]}"


def _without_prefix(path: str, prefix: str) -> str:
    """Return a path as it is where no proxy adds a prefix, "" for the prefix without a slash.

    >>> [_without_prefix(each, "/a") for each in ("/a/rank", "/a", "/rank", "/ab")]
    ['/rank', '', '/rank', '/ab']
    """
    rest = path.removeprefix(prefix)
    return rest if rest[:1] in ("/", "") else path


@lru_cache(1024)
def _quotable(stage: str) -> str:
    return _UNQUOTABLE.sub("", stage)
