"""What the server answers: every route, every error, over real HTTP."""

import json
from http.client import HTTPConnection
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime.bundle import Bundle

if TYPE_CHECKING:
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
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert 'desc="retrieve 1000 by bm25"' in reply.headers["server-timing"]


def test_highlights_stand_where_the_words_are(server: "Server") -> None:
    reply = server.post("/rank", {"query": "knead dough", "documents": TEXTS, "highlight": True})
    hit = reply.json()["hits"][0]
    marked = {hit["text"][each["begin"] : each["end"]] for each in hit["highlights"]["text"]}
    assert {"dough", "knead"} <= marked
    total = sum(each["value"] for each in hit["highlights"]["text"])
    assert total == pytest.approx(hit["score"], rel=0.02)


def test_explain_explains(server: "Server", bundle: Bundle) -> None:
    first = bundle.rank("dough")[0]
    reply = server.post("/explain", {"query": "dough", "id": first.id})
    assert reply.status == 200
    assert reply.json()["explanation"]["value"] == pytest.approx(first.score, rel=1e-5)


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_rerank_has_both_shapes_on_every_path(server: "Server", path: str) -> None:
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


def test_no_answer_waits_for_an_acknowledgement(server: "Server") -> None:
    # Nagle's algorithm and delayed acknowledgements together cost 40 ms an answer, every time.
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    times = []
    for _ in range(15):
        begin = perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times.append(perf_counter() - begin)
    connection.close()
    assert min(times[3:]) < 0.03


def test_metrics_count_what_was_answered(server: "Server") -> None:
    def figure(name: str) -> float:
        lines = server.ask("GET", "/metrics").body.decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    name = 'ranklet_requests_total{route="/rank",status="200"}'
    before = figure(name)
    server.post("/rank", {"query": "dough"})
    server.post("/rank", {"query": ""})
    assert figure(name) == before + 1
    assert figure('ranklet_request_seconds_count{route="/rank"}') >= before + 2
    assert figure('ranklet_stage_seconds_count{stage="retrieve 1000 by bm25"}') >= 1
    assert figure("ranklet_ready ") == 1
    assert figure("process_resident_memory_bytes ") > 1e7


def test_made_up_paths_make_no_labels(server: "Server") -> None:
    assert server.ask("GET", "/made-up").status == 404
    text = server.ask("GET", "/metrics").body.decode()
    assert "made-up" not in text
    assert 'route="other",status="404"' in text


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "told"),
    [
        ("GET", "/nothing", None, {}, 404, "no such path"),
        ("GET", "/rank", None, {}, 405, "GET is not allowed here; POST is"),
        ("POST", "/healthz", b"", {}, 405, "GET or HEAD is"),
        ("POST", "/rank", b"query=a", {"Content-Type": "text/plain"}, 415, "must be JSON"),
        ("POST", "/rank", b"{}", {}, 415, "Content-Type: application/json"),
        (
            "POST",
            "/rank",
            b"{}",
            {"Content-Type": "application/json; charset=utf-16"},
            415,
            "in UTF-8",
        ),
        (
            "POST",
            "/rank",
            b"\x1f\x8b",
            {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            415,
            "compressed",
        ),
        ("POST", "/rank", b"{", None, 400, "not JSON"),
        ("POST", "/rank", b'{"query": "\xff"}', None, 400, "not UTF-8"),
        ("POST", "/rank", b"[" * 100_000, None, 400, "not JSON"),
        ("POST", "/rank", b'"query"', None, 400, "must be a JSON object, not a string"),
        ("POST", "/rank", b'{"query": ""}', None, 422, "'query' is empty"),
        ("POST", "/rank", b'{"query": "a", "k": 1001}', None, 422, "from 0 to 1,000"),
        ("POST", "/rank", b'{"query": "a", "pipeline": "/etc/passwd"}', None, 404, "unknown pipe"),
        ("POST", "/explain", b'{"query": "a", "id": "zzz"}', None, 404, "unknown document id"),
    ],
)
def test_what_is_wrong_is_told_as_json(
    server: "Server",
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str] | None,
    status: int,
    told: str,
) -> None:
    reply = server.ask(method, path, body, headers)
    assert reply.status == status
    assert told in reply.json()["error"]
    assert reply.json()["error_type"]
    assert "Traceback" not in reply.body.decode()


def test_half_a_character_comes_back_as_it_went(server: "Server") -> None:
    reply = server.post("/rank", b'{"query": "dough \\ud83d"}')
    assert reply.status == 200
    assert reply.json()["query"] == "dough \ud83d"
    wrong = server.post("/rank", b'{"query": "dough", "pipeline": "\\ud83d"}')
    assert wrong.status == 404


def test_a_request_can_be_found_in_the_log(start: "Start") -> None:
    with start(GOOGLE_CLOUD_PROJECT="shop") as server:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        sent = {"X-Request-Id": "mine-1", "Traceparent": trace}
        reply = server.post("/rank", {"query": "secret dough"}, sent)
        assert reply.headers["x-request-id"] == "mine-1"
        forged = server.post("/rank", {"query": "dough"}, {"X-Request-Id": "a b{}"})
        assert forged.headers["x-request-id"] != "a b{}"
        server.wait(lambda: len(server.log()) >= 4)
        line = next(line for line in server.log() if line.get("request_id") == "mine-1")
        assert (line["status"], line["path"], line["severity"]) == (200, "/rank", "INFO")
        assert line["stages"]["retrieve 1000 by bm25"] > 0
        assert line["logging.googleapis.com/trace"] == (
            "projects/shop/traces/0af7651916cd43dd8448eb211c80319c"
        )
        assert "secret" not in json.dumps(server.log())


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
    for path in ("style.css", "playground.js", "results.js", "highlight.js", "icon.svg"):
        assert server.ask("GET", f"/playground/{path}").status == 200
    assert server.ask("GET", "/playground/../http.py").status == 404
    assert server.ask("HEAD", "/").body == b""


def test_the_settings_are_checked_before_anything_listens() -> None:
    from ranklet.handlers.server.settings import ServerSettings
    from ranklet.runtime.errors import InputError

    good: dict[str, Any] = {"RANKLET_BUNDLE": "b", "PORT": "9", "RANKLET_API_KEY": " a,,b "}
    found = ServerSettings.from_environment(good)
    assert (found.port, found.api_keys) == (9, ("a", "b"))
    assert "api_keys" not in repr(found)
    for wrong in (
        {"PORT": "http"},
        {"PORT": "65536"},
        {"RANKLET_CHECK": "some"},
        {"RANKLET_DEVICE": "tpu"},
        {"RANKLET_QUEUE": "-1"},
        {"RANKLET_MAX_K": "x"},
        {"RANKLET_BUNDLE": ""},
    ):
        with pytest.raises(InputError, match=next(iter(wrong))):
            ServerSettings.from_environment({**good, **wrong})
