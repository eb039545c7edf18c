"""What the server answers: every route, every error, over real HTTP."""

import asyncio
import json
import random
import re
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.handlers.gate import Gate
from tests.interrupted import TIMES, Interruption

from ranklet.handlers.api.answers import ANSWERS
from ranklet.handlers.server import quick, service
from ranklet.handlers.server.settings import ServerSettings
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.manifest import MANIFEST, Manifest
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.handlers.conftest import Server, Start

TEXTS = ["Knead the dough well.", "Wash the windows.", "Let the dough rise, then knead the dough."]


def test_rank_answers_as_the_bundle_does(server: "Server", bundle: Bundle) -> None:
    reply = server.post("/rank", {"query": "rising dough", "k": 3, "explain": True})
    wanted = bundle.rank("rising dough", k=3)
    assert reply.status == 200
    assert [(hit["id"], hit["score"]) for hit in reply.json()["hits"]] == [
        (hit.id, hit.score) for hit in wanted
    ]
    assert all(hit["explanation"]["parts"] for hit in reply.json()["hits"])
    assert reply.headers["content-type"] == "application/json"


def test_completions_are_the_bundles_by_url_and_by_body(server: "Server", bundle: Bundle) -> None:
    wanted = [each._asdict() for each in bundle.complete("kne", 3)]
    assert wanted
    answer = {"query": "kne", "completions": wanted}
    assert server.ask("GET", "/complete?q=kne&k=3").json() == answer
    assert server.post("/complete", {"q": "kne", "k": 3}).json() == answer
    assert server.ask("GET", "/complete?q=").json() == {"query": "", "completions": []}


def test_what_may_have_been_meant_is_answered(server: "Server") -> None:
    body = {"query": '"knead" douhg', "syntax": True}
    assert server.post("/rank", body).json()["suggestion"] == '"knead" dough'
    assert "suggestion" not in server.post("/rank", {"query": "knead dough"}).json()


def test_highlights_stand_where_the_words_are(server: "Server") -> None:
    reply = server.post("/rank", {"query": "knead dough", "documents": TEXTS, "highlight": True})
    hit = reply.json()["hits"][0]
    marked = {hit["text"][each["begin"] : each["end"]] for each in hit["highlights"]["text"]}
    assert {"dough", "knead"} <= marked
    total = sum(each["value"] for each in hit["highlights"]["text"])
    assert total == pytest.approx(hit["score"], rel=0.02)


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_every_rerank_path_takes_texts_and_documents(server: "Server", path: str) -> None:
    for key in ("texts", "documents"):
        found = server.post(path, {"query": "dough", key: TEXTS, "top_n": 2}).json()
        results = found if key == "texts" else found["results"]
        assert [each["index"] for each in results] == [2, 0]


def test_the_questions_about_the_server(server: "Server") -> None:
    assert server.ask("GET", "/healthz").json() == {"alive": True}
    assert server.ask("GET", "/readyz").json() == {"ready": True}
    info = server.ask("GET", "/info").json()
    assert info["documents"] == 42
    assert info["default_pipeline"] in info["pipelines"]


def test_a_slash_at_the_end_of_a_path_says_nothing(server: "Server") -> None:
    assert server.ask("GET", "/healthz/").json() == {"alive": True}
    asked = {"query": "dough", "k": 2}
    assert server.post("/rank/", asked).json()["hits"] == server.post("/rank", asked).json()["hits"]


@pytest.mark.parametrize(
    ("method", "header", "status"),
    [("resources/list", "2025-06-18", 200), ("prompts/list", None, 200),
     ("resources/list", "2026-07-28", 404), ("ping", "1999-01-01", 400), ("ping", None, 200)],
)  # fmt: skip
def test_what_assistants_ask_for_has_the_status_of_their_revision(
    server: "Server", method: str, header: str | None, status: int
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    reply = server.post("/mcp", message, {"MCP-Protocol-Version": header} if header else {})
    assert reply.status == status
    assert reply.json().get("error", {}).get("code", -32601) in (-32601, -32022)


def test_empty_lists_are_what_they_are_in_python(server: "Server") -> None:
    plain = server.post("/rank", {"query": "dough"}).json()["hits"]
    nothing: tuple[dict[str, list[str]], ...] = (
        {"pin": []}, {"hide": []}, {"pin": [], "hide": [], "facets": []},
    )  # fmt: skip
    for each in nothing:
        assert server.post("/rank", {"query": "dough", **each}).json()["hits"] == plain
        arguments = {"query": "dough", **each}
        call = {"name": "search", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        assert not server.post("/mcp", message).json()["result"].get("isError")
    assert server.post("/rank", {"query": "dough", "documents": []}).json()["hits"] == []
    assert server.post("/rank", {"query": "dough", "sort": []}).status == 422


@pytest.mark.parametrize("path", ["/", "/?q=dough", "/docs"])
def test_a_page_names_nothing_from_the_root_of_its_site(server: "Server", path: str) -> None:
    page = server.ask("GET", path).body.decode()
    assert re.findall(r'(?:href|src|action)="(/[^"]*)"', page) == []
    assert 'href="playground/style.css"' in page


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "message"),
    [
        ("GET", "/nothing", None, {}, 404, "no such path"),
        ("GET", "/docs/", None, {}, 404, "no such path"),
        ("GET", "/explain", None, {}, 405, "GET is not allowed here; POST is"),
        ("POST", "/healthz", b"", {}, 405, "GET or HEAD is"),
        ("POST", "/rank", b"query=a", {"Content-Type": "text/plain"}, 415, "must be JSON"),
        ("POST", "/rank", b"{", None, 400, "not JSON"),
        ("POST", "/rank", b'{"query": "\xff"}', None, 400, "not UTF-8"),
        ("POST", "/rank", b"[" * 100_000, None, 400, "not JSON"),
        ("POST", "/context", b'{"query": ""}', None, 422, "query is empty"),
        ("POST", "/rank", b'{"query": "a", "pipeline": "/etc/passwd"}', None, 404, "unknown pipe"),
        ("GET", "/complete?q=a&k=x", None, {}, 400, "'k' must be a whole number, as JSON"),
        ("GET", "/complete?q=a&q=b", None, {}, 400, "twice"),
        ("GET", "/complete?q=a&where=3", None, {}, 422, "'where' must be an object"),
        ("GET", "/complete?q=a&where=yaer<3", None, {}, 422, "unknown field 'yaer'"),
        ("GET", "/complete?prefix=a", None, {}, 422, "unknown field 'prefix'"),
        ("POST", "/complete?q=a", b"{}", None, 422, "not in its URL"),
    ],
)
def test_a_wrong_request_gets_its_reason_as_json(
    server: "Server",
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str] | None,
    status: int,
    message: str,
) -> None:
    reply = server.ask(method, path, body, headers)
    assert reply.status == status
    assert message in reply.json()["error"]
    assert reply.json()["error_type"]
    assert "Traceback" not in reply.body.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Authorization", "x-api-key"])
def test_a_key_opens_the_door(start: "Start", name: str) -> None:
    with start(RANKLET_API_KEY="first-key, clé") as server:
        value = "Bearer {}" if name == "Authorization" else "{}"
        for path in ("/rank", "/explain", "/rerank", "/v1/rerank", "/v2/rerank"):
            reply = server.post(path, {"query": "dough"})
            assert reply.status == 401
            assert reply.headers["www-authenticate"] == "Bearer"
        for wrong in ("", "first", "first-keyy", "first-key,"):
            reply = server.post("/rank", {"query": "dough"}, {name: value.format(wrong)})
            assert reply.status == 401, wrong
        for right in ("first-key", "clé".encode().decode("latin-1")):
            reply = server.post("/rank", {"query": "dough"}, {name: value.format(right)})
            assert reply.status == 200, right
        for guarded in ("/info", "/metrics"):
            assert server.ask("GET", guarded).status == 401
        for free in ("/", "/healthz", "/readyz", "/openapi.json"):
            assert server.ask("GET", free).status == 200
        assert "first-key" not in json.dumps(server.log())


def test_the_page_is_ours_alone(server: "Server") -> None:
    page = server.ask("GET", "/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    text = page.body.decode()
    assert "style=" not in text
    assert "onclick" not in text
    for path in ("style.css", "search.js", "icon.svg"):
        assert server.ask("GET", f"/playground/{path}").status == 200
    assert server.ask("GET", "/playground/../http.py").status == 404
    assert server.ask("HEAD", "/").body == b""


def test_an_answer_that_is_too_large_says_what_to_ask_for(start: "Start") -> None:
    with start(RANKLET_MAX_ANSWER_BYTES="3000") as server:
        body = {"query": "knead the dough, wash windows with water, prune roses, oil the chain"}
        reply = server.post("/rank", {**body, "explain": True})
        assert (reply.status, reply.json()["error_type"]) == (413, "too_large")
        assert "return_documents" in reply.json()["error"]
        assert len(server.post("/rank", body).body) <= 3000
        assert server.ask("GET", "/info").json()["limits"]["answer_bytes"] == 3000


@pytest.mark.slow
def test_an_answer_that_takes_too_long_is_given_up(start: "Start", gate: Gate) -> None:
    with start(gate=gate, RANKLET_MAX_SECONDS="1") as server:
        gate.shut()
        reply = server.post("/rank", {"query": "dough"})
        assert reply.status == 504
        assert reply.json()["error"] == "no answer within 1 seconds; ask for less"
        assert server.ask("GET", "/healthz").status == 200
        gate.open()


@pytest.mark.slow
def test_a_full_queue_refuses_with_retry_after(start: "Start", gate: Gate) -> None:
    body = {"query": "dough"}
    with (
        start(gate=gate, RANKLET_POOL="1", RANKLET_QUEUE="1") as server,
        ThreadPoolExecutor(2) as callers,
    ):
        gate.shut()
        waiting = [callers.submit(server.post, "/rank", body) for _ in range(2)]
        server.wait(lambda: "ranklet_held 2" in server.metrics())
        assert server.ask("GET", "/info").status == 503  # it opens files of the bundle, too
        assert server.ask("GET", "/readyz").status == server.ask("GET", "/healthz").status == 200
        refused = server.post("/rank", body)
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["error_type"] == "unavailable"
        gate.open()
        assert [each.result().status for each in waiting] == [200, 200]
        assert server.post("/rank", body).status == 200


@pytest.mark.slow
def test_callers_who_hang_up_leave_nothing_behind(start: "Start", gate: Gate) -> None:
    body = b'{"query": "dough"}'
    head = b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n".encode()
    gone = 'ranklet_requests_total{route="/rank",status="499"}'
    with start(gate=gate, RANKLET_POOL="1") as server:
        for sent in (head, head + body[:10]):  # before their request is whole
            with server.open() as connection:
                connection.sendall(sent)
        server.wait(lambda: f"{gone} 2" in server.metrics())
        gate.shut()
        with server.open() as first, server.open() as second:  # while one is at work, one waits
            for connection in (first, second):
                connection.sendall(head + body)
            server.wait(lambda: "ranklet_held 2" in server.metrics())
        server.wait(lambda: f"{gone} 4" in server.metrics())
        server.wait(lambda: "ranklet_held 1" in server.metrics())  # what works cannot be stopped
        gate.open()
        server.wait(lambda: "ranklet_held 0" in server.metrics())
        assert server.post("/rank", {"query": "dough"}).status == 200
        assert not [line for line in server.log() if line["severity"] == "ERROR"]


ODD = ["plain", "a/b", "/", "a b", "?k=1#x", "%2F", "ü 文", "a\nb", "..a", "'\"<>"]


@pytest.mark.slow
def test_documents_are_read_by_ids_with_any_characters(start: "Start", tmp_path: Path) -> None:
    rows = [{"id": name, "text": f"dough {at}", "tenant": "us" if at % 2 else "them"}
            for at, name in enumerate(ODD)]  # fmt: skip
    bundle = build(rows, tmp_path / "odd.ranklet")
    keys = {"RANKLET_API_KEY": "all", "RANKLET_API_KEY_FILTERS": '{"us": {"tenant": "us"}}'}
    with start(Path(bundle), **keys) as server:
        for at, name in enumerate(ODD):
            path = f"/documents/{quote(name, safe='')}"
            reply = server.ask("GET", path, headers={"x-api-key": "all"})
            found = reply.json()
            assert (reply.status, found["id"], found["text"]) == (200, name, f"dough {at}"), name
            ours = server.ask("GET", path, headers={"x-api-key": "us"})
            assert ours.status == (200 if at % 2 else 404), name
            assert server.ask("GET", path).status == 401
        for unknown in ("/documents/none", "/documents/", "/documents/%FF"):
            reply = server.ask("GET", unknown, headers={"x-api-key": "all"})
            assert (reply.status, reply.json()["error_type"]) == (404, "not_found"), unknown
        assert (
            'route="/documents/{id}",status="200"'
            in server.ask("GET", "/metrics", headers={"x-api-key": "all"}).body.decode()
        )


def test_fields_in_the_wrong_place_are_refused(server: "Server") -> None:
    """One that is not read could be the filter of a tenant."""
    reply = server.post("/rank?k=1", {"query": "dough"})
    assert (reply.status, "in its body, not in its URL" in reply.json()["error"]) == (422, True)
    assert server.ask("GET", "/rank?query=dough").status == 405


async def asked(server: service.Service, path: str, body: bytes) -> int:
    """Return the status of the answer of a server that runs here."""
    sent: list[Any] = []
    unread = [body]

    async def receive() -> Any:
        if not unread:  # the caller stays
            await asyncio.Event().wait()
        return {"type": "http.request", "body": unread.pop(), "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    await server.app({**scope, "query_string": b""}, receive, send)
    return int(sent[0]["status"])


@pytest.fixture
def lexical(built: "Built", tmp_path: Path) -> str:
    """A bundle whose default pipeline looks up words."""
    path = shutil.copytree(built.fused, tmp_path / "lexical")
    manifest = Manifest.from_json((path / MANIFEST).read_bytes())
    (path / MANIFEST).write_text(replace(manifest, default_pipeline="bm25").to_json(), "utf-8")
    return str(path)


def test_quick_answers_need_no_thread(lexical: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    def noted(*arguments: Any) -> Any:
        names.append(threading.current_thread().name)
        return answer(*arguments)

    answer = ANSWERS["/rank"]
    monkeypatch.setitem(ANSWERS, "/rank", noted)
    monkeypatch.setattr(quick, "AT_MOST", 1e9)
    monkeypatch.setattr(quick, "PATIENCE", 1e9)
    monkeypatch.setattr(quick, "IN_A_ROW", 3)
    server = service.Service(ServerSettings(bundle=lexical))

    async def several() -> list[int]:
        lifespan = server._lifespan(server._starlette)
        async with lifespan:
            plain, explained = b'{"query": "dough"}', b'{"query": "dough", "explain": true}'
            first = [await asked(server, "/rank", plain) for _ in range(4)]
            more = [await asked(server, "/rank", explained)]
            monkeypatch.setattr(quick, "AT_MOST", -1.0)  # as if every answer were slow
            return [
                *first,
                *more,
                await asked(server, "/rank", plain),
                await asked(server, "/rank", plain),
            ]

    assert asyncio.run(several()) == [200] * 7
    in_loop = [name == threading.main_thread().name for name in names]
    assert in_loop == [False, False, False, True, False, True, False]


ASKED: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/rank", {"query": "knead dough", "k": 3, "explain": True}),
    ("POST", "/rank", {"query": "knead dough", "documents": ["dough", "a motor", "to knead"]}),
    ("POST", "/v1/rerank", {"query": "dough", "documents": ["a motor", "dough"], "model": "m"}),
    ("POST", "/mcp", {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "dough"}},
    }),
)  # fmt: skip


@pytest.mark.slow
def test_work_that_is_interrupted_leaves_nothing_in_a_server(
    built: "Built", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors come into threads of the pool; what a signal raises comes into none of these."""
    server = service.Service(ServerSettings(bundle=str(built.fused), threads=1))
    run, now = server._pool.run, [Interruption()]

    async def interrupted(work: Callable[[], Any], *more: Any) -> Any:
        return await run(lambda: now[0].call(work), *more)

    monkeypatch.setattr(server._pool, "run", interrupted)
    with TestClient(server.app, base_url="http://localhost") as client:

        def answers() -> list[Any]:
            now[0] = Interruption()
            found = [client.request(how, path, json=body) for how, path, body in ASKED]
            assert {each.status_code for each in found} == {200}
            bodies = [each.json() for each in found]
            return [{name: of for name, of in each.items() if name != "ms"} for each in bodies]

        expected, rng, raised = answers(), random.Random(1), 0
        for how, path, body in ASKED:
            now[0] = counted = Interruption()
            client.request(how, path, json=body)
            for _ in range(TIMES):
                now[0] = each = Interruption(
                    rng.randint(1, counted.met), rng.choice((MemoryError, TimeoutError))
                )
                client.request(how, path, json=body)
                raised += each.raised
                assert answers() == expected
        assert raised > TIMES
        assert server._pool.held == 0
