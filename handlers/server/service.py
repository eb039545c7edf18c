"""The ASGI application: routes around `ranklet.handlers.api.answers`, by Starlette.

POST the paths of `ANSWERS`, /documents, /documents/delete, and /mcp for assistants; GET and DELETE
/documents/ID; GET /complete, /info, /v1/models, /v1/models/ID, /healthz, /readyz, /health,
/metrics, /openapi.json, /docs, and / for the playground.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ranklet.handlers import logs
from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.answers import ANSWERS, document, info, model, models
from ranklet.handlers.api.errors import (
    RequestError,
    error_body,
    failure,
    panics_as_errors,
    shape_error,
)
from ranklet.handlers.api.field import Route as Fields
from ranklet.handlers.api.limits import RANKING_SHARE, Room
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.api.reading import IN_BODY, in_url, parse
from ranklet.handlers.mcp.protocol import (
    FaultError,
    Protocol,
    check_revision,
    http_status,
    refusal,
    writes,
)
from ranklet.handlers.mcp.protocol import read as read_message
from ranklet.handlers.playground.api_page import api_page
from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.search_page import error_page, search_page
from ranklet.handlers.server.hosts import Hosts
from ranklet.handlers.server.key_bounds import NUMBERS, KeyBounds
from ranklet.handlers.server.keys import ApiKeys, Opened, open_part, read_key
from ranklet.handlers.server.live_bundle import LiveBundle
from ranklet.handlers.server.metrics import MEDIA, READY, Metrics
from ranklet.handlers.server.middleware import CLIENT_GONE, Middleware, Record
from ranklet.handlers.server.origins import Origins
from ranklet.handlers.server.quick import PLAIN_PATH, is_plain
from ranklet.handlers.server.request_body import FORM, Bodies, Body
from ranklet.handlers.server.settings import ServerSettings
from ranklet.handlers.server.shared_counts import SERIES, SharedCounts
from ranklet.handlers.server.worker_pool import ClientGone, WorkerPool
from ranklet.handlers.server.writes import Writes
from ranklet.handlers.server.writing_process import ENDING, WritingProcess
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import RemoteError
from ranklet.runtime.ground.memory import resident_bytes
from ranklet.runtime.ground.tracing import tracer
from ranklet.runtime.storage.package_files import package_bytes
from ranklet.version import __version__

WRITES = 8  # that may wait for the one that is being written
WATCH_SECONDS = 1.0  # between two checks whether the bundle was replaced
PLAYGROUND = Path(__file__).parent.parent / "playground"
# The page may load its own files only, so that no text of a document can run as a script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
}
EXTRA_HEADERS = {
    401: {"www-authenticate": "Bearer"},
    408: {"connection": "close"},  # the rest of the body is not read
    413: {"connection": "close"},
    429: {"retry-after": "1"},
    503: {"retry-after": "1"},
}
Work = Callable[[Bundle, bytes, float, Opened], Any]
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
HEALTH = ("/healthz", "/readyz", "/health")  # the last is TEI's
HTML = "text/html; charset=utf-8"
HTML_HEADERS = {**PAGE_HEADERS, "content-type": HTML}
FILES = {
    "/playground/style.css": ("style.css", "text/css; charset=utf-8"),
    "/playground/icon.svg": ("icon.svg", "image/svg+xml"),
    "/playground/search.js": ("search.js", "text/javascript; charset=utf-8"),
}


class Service:
    """The routes of one process, and the bundle, threads and metrics that they share.

    Attributes:
        app: the ASGI application.
        busy: the one for connections that are too many.
        draining: true after SIGTERM; /readyz is then 503 and every answer closes its connection.
    """

    def __init__(self, settings: ServerSettings, counts: SharedCounts | None = None) -> None:
        self.settings, self.draining = settings, False
        images = "img-src https: http:" if settings.look.image else "img-src"
        policy = POLICY.replace("img-src", images)
        self._page_headers = {**HTML_HEADERS, "content-security-policy": policy}
        counts = counts or SharedCounts(numbers(settings))
        self._keys = ApiKeys(settings.api_keys, settings.key_filters, settings.write_keys)
        self._writes, self._seen, self._writing = Writes(counts), 0.0, WritingProcess()
        self._seeing: tuple[float, asyncio.Future[None]] | None = None
        self._bodies = Bodies(counts, settings.bodies_bytes)
        self._bounds = KeyBounds(
            counts, len(self._keys), settings.key_requests, settings.key_per_minute
        )
        self._metrics = Metrics(counts)
        self._pool = WorkerPool(settings.threads, settings.queue)
        # A write may wait for another program, so it has a thread that ranks nothing, and bodies of
        # writes leave half of the room to those of queries.
        self._writers = WorkerPool(1, min(WRITES, settings.queue), finishes=True)
        self._room = max(settings.limits.body_bytes, settings.bodies_bytes // 2)
        self._live = LiveBundle(
            settings.bundle,
            settings.full_check,
            settings.device,
            logs.write,
            tuple(settings.key_filters.values()),
            settings.collection,
        )
        routes = [Route(path, self._answer, methods=["POST"]) for path in ANSWERS]
        routes += [
            Route(path, page_file(PLAYGROUND / name, media))
            for path, (name, media) in FILES.items()
        ]
        routes += [
            Route("/", self._page, methods=["GET", "POST"]),
            Route("/complete", self._complete),
            Route("/mcp", self._assistant, methods=["POST"]),
            Route("/info", self._info),
            Route("/healthz", self._healthz),
            Route("/v1/models", self._models),
            _by_id("/v1/models/", self._model),
            Route("/documents", self._add, methods=["POST"]),
            Route("/documents/delete", self._delete, methods=["POST"]),
            _by_id("/documents/", self._document, ["GET", "DELETE"]),
            Route("/readyz", self._readyz),
            Route("/health", self._readyz),
            Route("/metrics", self._scrape),
            Route("/openapi.json", self._openapi),
            Route("/docs", self._docs),
        ]
        self._hosts, self._origins = Hosts(settings.host, settings.hosts), Origins(settings.origins)
        self._starlette = application(routes, lifespan=self._lifespan)
        paths = frozenset(route.path for route in routes)
        framed = partial(
            Middleware, routes=paths, metrics=self._metrics, settings=settings,
            draining=lambda: self.draining, origins=self._origins,
        )  # fmt: skip
        self.app, self.busy = framed(self._route), framed(_refuse)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what POST ranks, and leave all else to Starlette, whose way takes longer."""
        if scope["type"] != "http":
            await self._starlette(scope, receive, send)
            return
        if not scope["path"]:  # the prefix alone, where no address of the page would lead
            where = f"{self.settings.prefix}/?{scope['query_string'].decode('latin-1')}"
            headers = {"location": where.removesuffix("?")}
            await Response(status_code=308, headers=headers)(scope, receive, send)
        elif foreign := self._foreign(scope):
            await _failed(RequestError(403, foreign), scope["path"])(scope, receive, send)
        elif scope["method"] == "OPTIONS" and (
            allowed := self._origins.preflight(scope["ranklet.record"].headers)
        ):
            await allowed(scope, receive, send)
        elif scope["method"] == "POST" and scope["path"] in ANSWERS:
            response = await self._answer(Request(scope, receive))
            await response(scope, receive, send)
        else:
            await self._starlette(scope, receive, send)

    def _foreign(self, scope: Scope) -> str:
        """Return why a request is refused that another site's page may have made, else ""."""
        if scope["path"] in HEALTH:  # a platform asks for these by an address of its own choice
            return ""
        headers: Mapping[str, str] = scope["ranklet.record"].headers
        if self._origins.allow(headers.get("origin", "")):
            headers = {"host": headers.get("host", "")}
        return self._hosts.refusal(headers, origin=scope["path"] == "/mcp")

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        # The bundle is loaded before the first request is accepted. Otherwise a process that is not
        # ready would take requests from another that is, if they share a port.
        await asyncio.to_thread(self._live.refresh)
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            self._pool.close()
            self._writers.close()
            self._writing.close()

    def refuse_writes(self) -> None:
        """Answer writes that wait; the one that is being written comes to its end."""
        self._writers.refuse(RequestError(503, ENDING))
        self._writing.hurry()

    async def _watch(self) -> None:
        """Check regularly whether the bundle was replaced, so that no request waits for it."""
        while True:
            self._measure()
            await asyncio.sleep(WATCH_SECONDS)
            await asyncio.to_thread(self._live.refresh)

    def _measure(self) -> None:
        """Set what is measured now and not counted."""
        self._metrics.set(
            {
                READY: float(not self.draining and self._live.reason is None),
                "ranklet_held": self._pool.held,
                "process_resident_memory_bytes": resident_bytes(),
                **self._live.gauges(),
            }
        )

    async def _answer(self, request: Request) -> Response:
        record: Record = request.scope["ranklet.record"]
        limits, path = self.settings.limits, request.scope["path"]

        async def sent(body: Body) -> bytes:
            if request.scope["query_string"]:
                raise RequestError(422, IN_BODY)
            return await body.read(request, limits)

        def work(bundle: Bundle, data: bytes, budget_ms: float, _: Opened) -> Any:
            answer = ANSWERS[path](bundle, parse(data), limits, budget_ms)
            record.stages.extend(answer.timings)
            return answer.body

        return await self._in_pool(request, sent, work)

    async def _assistant(self, request: Request) -> Response:
        """Answer a message of the Model Context Protocol; nobody waits for one to a notification.

        The revisions until 2025 have a channel from the server, too, which no answer here needs.
        """
        status = 200

        def work(bundle: Bundle, data: bytes, budget_ms: float, opened: Opened) -> Any:
            nonlocal status
            writer = self._writer(opened, budget_ms) if opened.writes else None
            limits = replace(self.settings.limits, seconds=budget_ms / 1e3 / RANKING_SHARE)
            answer: Any
            try:
                check_revision(revision := request.headers.get("mcp-protocol-version"))
                protocol = Protocol(lambda: bundle, limits, writer=writer, wrote=self._writes.count)
                answer = protocol.answer(message := read_message(data))
                status = http_status(answer, message, revision) if answer else 202
            except FaultError as fault:
                answer = refusal(fault)
                status = 400 if answer else 202
            return answer

        async def sent(body: Body) -> bytes:
            return await body.read(request, self.settings.limits)

        response = await self._in_pool(request, sent, work, writes=writes)
        if status == 202:
            return Response(status_code=202)
        if response.status_code == 200:
            response.status_code = status
        return response

    async def _page(self, request: Request) -> Response:
        """Answer with the page to search with, and with all that its form asks for."""
        record: Record = request.scope["ranklet.record"]
        limits, writable = self.settings.limits, bool(self.settings.write_keys)
        form, look = Form(), self.settings.look
        accepted = request.headers.get("accept-language", "")

        async def sent(body: Body) -> bytes:
            nonlocal form
            data: bytes = request.scope["query_string"]
            if request.method == "POST":
                data = await body.read(request, limits, FORM)
            form = Form.read(data.decode("latin-1"))
            return data

        def work(bundle: Bundle, _: bytes, budget_ms: float, __: Opened) -> str:
            page = search_page(
                bundle, form, limits, budget_ms, look, accepted=accepted, writable=writable
            )
            record.stages.extend(page.timings)
            return page.html

        response = await self._in_pool(request, sent, work)
        if response.status_code in (200, CLIENT_GONE):
            response.headers.update(self._page_headers)
            return response
        status, said = response.status_code, json.loads(bytes(response.body))["error"]
        if status == 401:  # nothing was read yet
            with contextlib.suppress(RequestError):
                form = Form.read(request.scope["query_string"].decode("latin-1"))
        key = read_key(record.headers).decode("latin-1")
        page = error_page(form, status, said, look, accepted, key=key)
        if status == 401 and not (key or request.scope["query_string"]):
            status = 200  # a page that asks for the key
        return Response(page, status, self._page_headers)

    async def _info(self, request: Request) -> Response:
        return await self._about(
            request,
            lambda each: {
                "version": __version__,
                **info(each, self.settings.limits),
                "writable": bool(self.settings.write_keys),
            },
        )

    async def _complete(self, request: Request) -> Response:
        limits = self.settings.limits

        async def sent(_: Body) -> bytes:
            return encoded(in_url(Fields.COMPLETE, request.query_params.multi_items()))

        def work(bundle: Bundle, data: bytes, budget_ms: float, _: Opened) -> Any:
            return ANSWERS["/complete"](bundle, parse(data), limits, budget_ms).body

        return await self._in_pool(request, sent, work)

    async def _models(self, request: Request) -> Response:
        return await self._about(request, models)

    async def _model(self, request: Request) -> Response:
        return await self._about(request, lambda each: model(each, request.path_params["id"]))

    async def _document(self, request: Request) -> Response:
        identity = request.path_params["id"]
        if request.method == "DELETE":
            return await self._written(request, lambda writer, _: writer.delete_one(identity))
        return await self._about(request, lambda each: document(each, identity))

    async def _add(self, request: Request) -> Response:
        limits = self.settings.limits
        return await self._written(request, lambda writer, data: writer.add(parse(data), limits))

    async def _delete(self, request: Request) -> Response:
        limits = self.settings.limits
        return await self._written(request, lambda writer, data: writer.delete(parse(data), limits))

    async def _written(
        self, request: Request, write: Callable[[Writer, bytes], dict[str, Any]]
    ) -> Response:
        """Answer a request that writes, once whoever asks this server finds what it wrote.

        It waits for its turn no longer than a request may take. If it was begun until then, the
        answer says what became of it, however long that takes; otherwise it is never written.
        """

        async def sent(body: Body) -> bytes:
            if request.scope["query_string"]:
                raise RequestError(422, IN_BODY)
            if request.method == "DELETE":
                return b""
            return await body.read(request, self.settings.limits)

        def work(_: Bundle, data: bytes, budget_ms: float, opened: Opened) -> Any:
            answer = write(self._writer(opened, budget_ms), data)
            self._writes.count()
            return answer

        return await self._in_pool(request, sent, work, self._keys.writing, lambda _: True)

    async def _about(self, request: Request, said: Callable[[Bundle], Any]) -> Response:
        """Answer with what is said of the bundle; nothing was sent."""

        async def sent(_: Body) -> bytes:
            if request.scope["query_string"]:
                raise RequestError(422, "this path takes no fields in its URL")
            return b""

        return await self._in_pool(request, sent, lambda bundle, *_: said(bundle))

    def _writer(self, opened: Opened, budget_ms: float) -> Writer:
        settings, write = self.settings, self._writing.write
        return Writer(settings.bundle, settings.device, opened.where, write, budget_ms / 1e3)

    async def _in_pool(
        self,
        request: Request,
        sent: Callable[[Body], Awaitable[bytes]],
        work: Work,
        opened: Callable[[Mapping[str, str]], Opened] | None = None,
        writes: Callable[[bytes], bool] | None = None,
    ) -> Response:
        """Answer a request for the bundle, in a thread of a pool unless that takes no time.

        Args:
            request: the request.
            sent: reads what it has sent, if its key may ask now.
            work: returns the answer, from the part of the bundle that the key opens, what was sent,
                the milliseconds that ranking may take, and what the key opens.
            opened: returns what the request's key opens; None for what it may read.
            writes: returns whether the request writes what it has sent, if its key may.
        """
        record: Record = request.scope["ranklet.record"]
        try:
            asked = (opened or self._keys.opened)(record.headers)
            await self._see_writes()
            may, pool = writes if asked.writes else None, self._pool
            body_of = self._bodies.body(self._room if may else None)
            with self._bounds.counted(asked.key), body_of as held:
                bundle = self._live.bundle
                begin = perf_counter()
                data = await sent(held)
                record.stages.append(("read body", (perf_counter() - begin) * 1e3))
                if may is not None and await asyncio.to_thread(may, data):
                    pool = self._writers
                body = await self._worked(
                    pool,
                    request,
                    data,
                    lambda budget_ms: work(open_part(bundle, asked.where), data, budget_ms, asked),
                )
        except (ClientDisconnect, ClientGone):
            return Response(status_code=CLIENT_GONE)  # for the log; nobody reads it
        except Exception as error:
            response = _failed(error, request.scope["path"])
            if response.status_code == 500 or isinstance(error, RemoteError):
                record.error = error
            return response
        return Response(body, headers={"content-type": "application/json"})

    async def _see_writes(self) -> None:
        """Take over what this process, or another one of the server, has written."""
        if (total := self._writes.total) == self._seen:
            return
        if self._seeing is None or self._seeing[0] != total:  # else another request looks for it
            looking = asyncio.ensure_future(asyncio.to_thread(self._live.refresh))
            self._seeing = total, looking
        await asyncio.shield(self._seeing[1])
        self._seen = max(self._seen, total)

    async def _worked(
        self, pool: WorkerPool, request: Request, data: bytes, work: Callable[[float], Any]
    ) -> bytes:
        """Return the answer to a request that has sent `data`, from `work` within milliseconds."""
        record: Record = request.scope["ranklet.record"]
        limits, took, found = self.settings.limits, (inf, inf), False

        def answer() -> bytes:
            nonlocal took, found
            wait_ms = (perf_counter() - queued) * 1e3
            record.stages.append(("wait", wait_ms))
            budget_ms = max(0.0, limits.ranking_ms - wait_ms)
            began, worked = perf_counter(), thread_time()
            try:
                with panics_as_errors():
                    body = work(budget_ms)
                found = bool(quick and body["hits"])
                data = body.encode() if isinstance(body, str) else encoded(body)
                return Room(limits.answer_bytes).check(data)
            finally:
                took = perf_counter() - began, thread_time() - worked

        queued, plain = perf_counter(), request.scope["path"] == PLAIN_PATH and is_plain(data)
        quick = self._live.quick if plain else None
        try:
            if quick and quick.expected:
                return answer()
            # A span of the work belongs to the request's, which is the context here.
            traced = partial(copy_context().run, answer) if tracer() else answer
            return await pool.run(traced, limits.seconds, partial(_gone, request))
        finally:
            if quick:
                quick.took(*took, found=found)

    async def _healthz(self, _: Request) -> Response:
        return _json({"alive": True})

    async def _readyz(self, _: Request) -> Response:
        reason = "the server is shutting down" if self.draining else self._live.reason
        if reason:
            return _json({"ready": False, "reason": reason}, 503, EXTRA_HEADERS[503])
        return _json({"ready": True})

    async def _scrape(self, request: Request) -> Response:
        if self._keys.opened(request.headers).where is not None:
            raise RequestError(403, "this key opens a part of the bundle; the metrics are of all")
        self._measure()
        return Response(self._metrics.text(), headers={"content-type": MEDIA})

    async def _openapi(self, _: Request) -> Response:
        return _json(describe(self.settings.limits, keyed=bool(self._keys)))

    async def _docs(self, _: Request) -> Response:
        described = describe(self.settings.limits, keyed=bool(self._keys))
        return Response(api_page(described), headers=HTML_HEADERS)


def numbers(settings: ServerSettings) -> int:
    """Return how many numbers each process counts at most."""
    keys = len(settings.api_keys) + len(settings.key_filters) + len(settings.write_keys)
    return SERIES + NUMBERS * keys


def application(routes: Sequence[Route], **more: Any) -> Starlette:
    """Return an application of some routes, whose errors are JSON and which redirects nobody."""
    handlers: Any = {HTTPException: _no_route, RequestError: _refused}
    made = Starlette(routes=routes, exception_handlers=handlers, **more)
    made.router.redirect_slashes = False  # a redirect leads to whatever host the caller named
    return made


def _by_id(
    prefix: str, answer: Callable[[Request], Awaitable[Response]], methods: Sequence[str] = ("GET",)
) -> Route:
    """Return a route whose path ends in an id, in which any character may stand, a newline too."""
    route = Route(f"{prefix}{{id:path}}", answer, methods=list(methods))
    route.path_regex = re.compile(f"{re.escape(prefix)}(?P<id>.*)\\Z", re.DOTALL)
    return route


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def encoded(body: Any) -> bytes:
    """Return JSON in UTF-8. A lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    return _ENCODER.encode(body).encode("utf-8", "backslashreplace")


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(body), status, {"content-type": "application/json", **(headers or {})})


def _failed(error: Exception, path: str) -> Response:
    status, error_object = failure(error)
    return _json(shape_error(path, error_object), status, EXTRA_HEADERS.get(status))


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer on a connection that is one too many, which ends with the answer."""
    error = RequestError(503, "too many connections are open; try again in a second")
    answer = _failed(error, scope["path"])
    answer.headers["connection"] = "close"
    await answer(scope, receive, send)


async def _refused(request: Request, error: RequestError) -> Response:
    return _failed(error, request.scope["path"])


async def _no_route(request: Request, error: HTTPException) -> Response:
    """Answer Starlette's own errors, an unknown path or method, in the form of all others."""
    headers = dict(error.headers or {})
    message = "no such path"
    if "Allow" in headers:
        allowed = " or ".join(sorted(headers["Allow"].split(", ")))
        message = f"{request.method} is not allowed here; {allowed} is"
    shown = shape_error(request.scope["path"], error_body(error.status_code, message))
    return _json(shown, error.status_code, headers)


def page_file(path: Path, media: str) -> Callable[[Request], Response]:
    """Return a route to one of a page's files, which is read once, when the server starts."""
    content, headers = package_bytes(path), {**PAGE_HEADERS, "content-type": media}
    return lambda _: Response(content, headers=headers)
