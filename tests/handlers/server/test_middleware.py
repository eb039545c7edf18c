import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.handlers.conftest import Server, Start


def test_every_answer_has_the_headers_of_the_server(server: "Server") -> None:
    for path in ("/healthz", "/info", "/nothing", "/"):
        headers = server.ask("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert len(headers["x-request-id"]) == 32
        assert headers["cache-control"] == ("no-cache" if path == "/" else "no-store")
        assert "server" not in headers


def test_stages_are_in_the_header_server_timing(server: "Server") -> None:
    reply = server.post("/rank", {"query": "rising dough", "k": 3, "explain": True})
    timing = reply.headers["server-timing"]
    assert 'desc="retrieve 1000 by bm25"' in timing
    assert timing.count(";dur=") == timing.count(";desc=") >= 3


def test_a_request_can_be_found_in_the_log(start: "Start") -> None:
    with start(GOOGLE_CLOUD_PROJECT="shop") as server:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        sent = {"X-Request-Id": "mine-1", "Traceparent": trace}
        reply = server.post("/rank", {"query": "secret dough"}, sent)
        assert reply.headers["x-request-id"] == "mine-1"
        forged = server.post("/rank", {"query": "dough"}, {"X-Request-Id": "a b{}"})
        assert forged.headers["x-request-id"] != "a b{}"
        server.wait(lambda: sum("request_id" in line for line in server.log()) >= 2)
        line = next(line for line in server.log() if line.get("request_id") == "mine-1")
        assert (line["status"], line["path"], line["severity"]) == (200, "/rank", "INFO")
        assert line["stages"]["retrieve 1000 by bm25"] > 0
        assert line["logging.googleapis.com/trace"] == (
            "projects/shop/traces/0af7651916cd43dd8448eb211c80319c"
        )
        assert "secret" not in json.dumps(server.log())
        assert not any(line.get("path") == "/readyz" for line in server.log())
