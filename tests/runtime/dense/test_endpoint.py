"""A server that encodes queries, and what it may do wrong."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.dense.endpoint import QueryEndpoint, find_endpoint
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.variables import Variable
from ranklet.workflows.build import build

KEY = "sk-very\nsecret"  # which no header can have, so its error would name it
DOCUMENTS = [
    {"id": "bread", "text": "Knead the dough.", "vector": [1.0, 0.0]},
    {"id": "tea", "text": "Boil the water.", "vector": [0.0, 1.0]},
]

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@contextmanager
def served(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on a free port; yield the address, and what was asked so far."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body | {"path": self.path, "key": self.headers["Authorization"]})
            answer(self, body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, content: Any, status: int = 200) -> None:
    handler.send_response(status)
    handler.end_headers()
    handler.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def vector(*numbers: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"index": 0, "embedding": [*numbers]}]}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build(DOCUMENTS, tmp_path / "b", vectors="vector", vector_model="small")


def test_an_endpoint_encodes_queries_each_once(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(lambda handler, _: send(handler, vector(0.2, 0.9))) as (url, asked):
        monkeypatch.setenv(Variable.QUERY_ENDPOINT, url)
        monkeypatch.setenv(Variable.QUERY_KEY, "sk-1")
        for _ in range(2):
            found = bundle.rank("dough")
            assert not found.without
            assert {hit.id for hit in found} == {"bread", "tea"}
        best = bundle.rank("dough", pipeline="vectors")[0]
        given = bundle.rank("dough", vector=[1, 0], pipeline="vectors")[0]
    assert (best.id, given.id) == ("tea", "bread")
    assert asked == [
        {"input": "dough", "model": "small", "encoding_format": "float", "path": "/v1/embeddings",
         "key": "Bearer sk-1"}
    ]  # fmt: skip


WRONG: list[tuple[Answer, str]] = [
    (lambda handler, _: send(handler, vector(1, 2, 3)), "answered with 3 numbers, not 2"),
    (lambda handler, _: send(handler, vector(0, 0)), "answered with a vector of zeros"),
    (lambda handler, _: send(handler, vector("a", "b")), "did not answer with a vector"),
    (lambda handler, _: send(handler, b'{"data": [{"embedding": [NaN, 1]}]}'), "did not answer"),
    (lambda handler, _: send(handler, b"<html>"), "did not answer with a vector"),
    (lambda handler, _: send(handler, {"data": []}), "did not answer with a vector"),
    (lambda handler, _: send(handler, {"error": KEY}, 401), "answered with the status 401"),
    (lambda handler, _: send(handler, vector(1, 2), 307), "answered with the status 307"),
    (lambda handler, _: handler.connection.close(), "cannot be reached"),
]


@pytest.mark.parametrize(("answer", "why"), WRONG)
def test_words_answer_where_an_endpoint_lies_or_dies(
    answer: Answer, why: str, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(answer) as (url, _):
        monkeypatch.setenv(Variable.QUERY_ENDPOINT, url)
        found = bundle.rank("dough")
    assert [hit.id for hit in found] == ["bread"]
    assert len(found.without) == 1
    assert why in found.without[0]


def test_words_answer_in_time_where_an_endpoint_hangs(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = Event()

    def hang(*_: object) -> None:
        end.wait()

    with served(hang) as (url, _):
        monkeypatch.setenv(Variable.QUERY_ENDPOINT, url)
        monkeypatch.setenv(Variable.QUERY_MS, "20")
        found = bundle.rank("dough")
        end.set()
    assert [hit.id for hit in found] == ["bread"]
    assert "did not answer within 20 ms" in found.without[0]


def test_no_key_is_said(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(Variable.QUERY_ENDPOINT, "http://127.0.0.1:9/v1?key=secret")
    monkeypatch.setenv(Variable.QUERY_KEY, KEY)
    with caplog.at_level(logging.DEBUG):
        found = bundle.rank("dough")
    assert found.without
    said = f"{found.to_json()} {caplog.text} {bundle.manifest.to_json()}"
    assert "secret" not in said


@pytest.mark.parametrize("url", ["localhost", "ftp://a", "http://", "http://a:b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is no endpoint"):
        QueryEndpoint(url, "", 2)


@pytest.mark.parametrize("ms", ["0", "x", "1e9", "nan"])
def test_a_time_limit_that_is_none_is_refused(ms: str) -> None:
    variables = {Variable.QUERY_ENDPOINT: "http://a", Variable.QUERY_MS: ms}
    with pytest.raises(InputError, match="RANKLET_QUERY_MS"):
        find_endpoint("", 2, variables)


def test_the_vector_is_that_of_the_answer() -> None:
    with served(lambda handler, _: send(handler, vector(1, 2.5))) as (url, asked):
        found = QueryEndpoint(url + "/own?a=b", "", 2).encode("dough")
    assert np.array_equal(found, np.array([1, 2.5], np.float32))
    assert asked == [
        {"input": "dough", "encoding_format": "float", "path": "/own?a=b", "key": None}
    ]
