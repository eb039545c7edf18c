"""The server of the page for judging: this machine only, one person, every mark saved at once.

GET / and /state; POST /rank and /marks.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import uvicorn
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ranklet.handlers.api.answers import document, rank
from ranklet.handlers.api.errors import RequestError, error_body, failure
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import check_characters, parse
from ranklet.handlers.server.connection import BoundedProtocol
from ranklet.handlers.server.hosts import Hosts
from ranklet.handlers.server.request_body import Bodies
from ranklet.handlers.server.service import application, encoded, page_file
from ranklet.handlers.server.shared_counts import SharedCounts
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.writing.locks import waiting_at_most

FOLDER = Path(__file__).parent
PLAYGROUND = FOLDER.parent / "playground"
FILES = {
    "/": (FOLDER / "index.html", "text/html; charset=utf-8"),
    "/judge.css": (FOLDER / "judge.css", "text/css; charset=utf-8"),
    "/judge.js": (FOLDER / "judge.js", "text/javascript; charset=utf-8"),
    "/cards.js": (FOLDER / "cards.js", "text/javascript; charset=utf-8"),
    "/style.css": (PLAYGROUND / "style.css", "text/css; charset=utf-8"),
    "/highlight.js": (FOLDER / "highlight.js", "text/javascript; charset=utf-8"),
    "/icon.svg": (PLAYGROUND / "icon.svg", "image/svg+xml"),
}
LIMITS = Limits()
BODIES = Bodies(SharedCounts(), 4 * LIMITS.body_bytes)  # one person asks once at a time


class JudgedQuery(Protocol):
    """A query to judge."""

    @property
    def id(self) -> str:
        """The id."""

    @property
    def text(self) -> str:
        """The text."""


class Store(Protocol):
    """Where judgements are kept.

    Attributes:
        folder: the folder that they are in, for people to read.
        split: what they are called in it.
    """

    folder: Path
    split: str

    @property
    def queries(self) -> Sequence[JudgedQuery]:
        """What to judge."""

    def grades(self) -> dict[str, dict[str, int]]:
        """Return the grades by query and document: above 0 for relevant."""

    def mark(self, query: str, grades: Mapping[str, int | None], *, keep: bool = False) -> None:
        """Change grades and save them; None removes one, and `keep` keeps those that are there."""


class JudgeService:
    """The routes, an ASGI application.

    Args:
        bundle: what ranks.
        documents: the bundle's documents.
        store: where marks go.
        pipeline: the name of the pipeline whose hits are judged; None for the default.
    """

    def __init__(
        self, bundle: Bundle, documents: Documents, store: Store, pipeline: str | None = None
    ) -> None:
        self._bundle, self._documents, self._store = bundle, documents, store
        self._pipeline = pipeline
        routes = [Route(path, page_file(file, media)) for path, (file, media) in FILES.items()]
        routes += [
            Route("/state", _answering(self._state)),
            Route("/rank", _answering(self._rank), methods=["POST"]),
            Route("/marks", _answering(self._mark), methods=["POST"]),
        ]
        self._hosts = Hosts("127.0.0.1")
        self._starlette = application(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, unless another site's page sent it."""
        if scope["type"] == "http" and (reason := self._hosts.refusal(Headers(scope=scope))):
            await _json(error_body(403, reason), 403)(scope, receive, send)
        else:
            await self._starlette(scope, receive, send)

    def _state(self, _: Mapping[str, Any]) -> dict[str, Any]:
        store, grades = self._store, self._store.grades()
        return {
            "documents": self._documents.whole,
            "bundle": self._bundle.path.name,
            "folder": str(store.folder),
            "split": store.split,
            "queries": [
                {"id": each.id, "text": each.text, "marks": _signs(grades.get(each.id, {}))}
                for each in store.queries
            ],
        }

    def _rank(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return hits, the marks of the query with the id `of`, and what else is marked for it.

        `ignored` has the stop words that were left out.
        """
        wanted = {"query": body.get("query"), "k": body.get("k"), "highlight": True}
        if self._pipeline is not None:
            wanted["pipeline"] = self._pipeline
        answer: Any = rank(self._bundle, wanted, LIMITS).body
        hits = answer["hits"]
        marks = self._store.grades().get(str(body.get("of")), {})
        # Judgements that others made may be of documents that no collection has.
        shown = {*(hit["id"] for hit in hits), *self._documents.lacking(set(marks))}
        others = [self._named(each) for each in marks if each not in shown]
        ignored = answer.get("ignored", [])
        return {"hits": hits, "marks": _signs(marks), "others": others, "ignored": ignored}

    def _mark(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Save marks, `{"query": id, "grades": {document: 0 to 3, or null}}`.

        With `"keep": true` documents that have a mark keep it, whoever made it since the page saw.
        """
        query, grades = body.get("query"), body.get("grades")
        if not isinstance(query, str) or not query.strip():
            raise RequestError(422, "'query' is missing; it must be a query's id")
        if not isinstance(grades, dict) or not grades:
            raise RequestError(422, "'grades' must be an object, such as {\"d1\": 1}")
        for name, grade in grades.items():
            self._documents.number(name)  # so that no unknown document is judged
            if grade is not None and type(grade) is not int:
                raise RequestError(422, "a grade must be 0, 1, 2, 3 or null")
        with waiting_at_most(LIMITS.seconds):
            self._store.mark(query, grades, keep=body.get("keep") is True)
        return {"marks": _signs(self._store.grades().get(query, {}))}

    def _named(self, name: str) -> dict[str, Any]:
        found = document(self._bundle, name)
        return {**found, "text": found["text"][:300]}


def _signs(grades: Mapping[str, int]) -> dict[str, int]:
    """Return grades as the page shows them: 0 for not relevant, and more for relevant."""
    return {name: max(grade, 0) for name, grade in grades.items()}


def run(service: JudgeService, listening: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    config = uvicorn.Config(
        service, http=BoundedProtocol, ws="none", lifespan="off", log_level="warning",
        access_log=False, server_header=False, proxy_headers=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    _Server(config).run([listening])


class _Server(uvicorn.Server):
    """A server that ends normally after Ctrl-C, and at once after a second."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _answering(answer: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    """Return an endpoint that answers a JSON body, or none with GET, in a thread."""

    async def endpoint(request: Request) -> Response:
        try:
            with BODIES.body() as body:
                sent = await body.read(request, LIMITS) if request.method == "POST" else b"{}"
                asked = parse(sent)
                check_characters(asked)
                return _json(await asyncio.to_thread(answer, asked))
        except RankletError as error:
            status, shown = failure(error)
            if status == 500:  # the person at this page is the server's owner
                shown = error_body(500, str(error))
            return _json(shown, status)

    return endpoint


def _json(body: Any, status: int = 200) -> Response:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return Response(encoded(body), status, headers)
