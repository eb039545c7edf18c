"""A server and a function answer from a collection in Milvus, with the models of a bundle."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.handlers.aws.conftest import Context

from ranklet.handlers.api.errors import failure
from ranklet.handlers.aws.function import Function
from ranklet.runtime.ground.errors import RemoteError
from ranklet.runtime.ranking import load
from ranklet.workflows.build import build
from ranklet.workflows.feeds.publishing import publish

if TYPE_CHECKING:
    from tests.handlers.conftest import Start

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

ROWS = [
    {"id": "a-1", "text": "Our plan for the budget.", "tenant": "a"},
    {"id": "a-2", "text": "The plan is no secret.", "tenant": "a"},
    {"id": "b-1", "text": "A secret budget, and a plan.", "tenant": "b"},
]
QUERY = "a plan for the budget"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(build(ROWS, tmp_path_factory.mktemp("plans") / "plans.ranklet"))


@pytest.fixture(scope="module")
def address(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from milvus_lite.server_manager import server_manager_instance

    place = str(tmp_path_factory.mktemp("milvus") / "m.db")
    publish(bundle, place)
    port = urlsplit(str(server_manager_instance.start_and_get_uri(place))).port
    yield f"milvus://127.0.0.1:{port}/plans"
    server_manager_instance.release_server(place)


@pytest.mark.slow
def test_a_server_ranks_the_collection(start: "Start", bundle: Path, address: str) -> None:
    filters = json.dumps({"key-of-a": {"tenant": "a"}})
    variables = {
        "RANKLET_COLLECTION": address, "RANKLET_API_KEY": "whole",
        "RANKLET_API_KEY_FILTERS": filters, "RANKLET_WORKERS": "1",
    }  # fmt: skip
    with start(bundle, **variables) as server:
        for key, ids in (("whole", {"a-1", "a-2", "b-1"}), ("key-of-a", {"a-1", "a-2"})):
            headers = {"x-api-key": key}
            asked = {"query": QUERY, "explain": True, "highlight": True}
            hits = server.post("/rank", asked, headers).json()["hits"]
            assert {hit["id"] for hit in hits} == ids
            assert all(hit["explanation"]["parts"] and hit["highlights"]["text"] for hit in hits)
            explained = {"query": QUERY, "id": "b-1"}
            status = server.post("/explain", explained, headers).status
            assert status == (200 if "b-1" in ids else 404)
            assert server.ask("GET", "/info", headers=headers).json()["documents"] == len(ids)
            page = server.ask("GET", "/?q=plan&why=1&from.tenant=", headers=headers).body.decode()
            assert page.count('<li class="hit"') == len(ids)
            assert 'class="why"' in page
            assert 'name="sort"' not in page
        texts = {"query": "dough", "texts": ["x", "a plan"]}
        assert server.post("/rerank", texts, {"x-api-key": "whole"}).status == 200
        refused = server.post(
            "/rank", {"query": '"plan b"', "syntax": True}, {"x-api-key": "whole"}
        )
        assert refused.status == 422
        assert "looked up in the collection of a bundle" in refused.json()["error"]


def test_a_function_ranks_the_collection(
    bundle: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", str(bundle))
    monkeypatch.setenv("RANKLET_COLLECTION", address)
    function = Function({"AWS_LAMBDA_FUNCTION_NAME": "search"})
    function.load(must=True)
    asked: dict[str, Any] = {"query": QUERY, "where": {"tenant": "b"}}
    answer = function(asked, Context())
    assert [hit["id"] for hit in answer["hits"]] == ["b-1"]
    assert "search Milvus" in answer["ms"]
    load(bundle, collection=address).close()


def test_a_store_that_does_not_answer_is_no_fault_of_the_caller() -> None:
    status, body = failure(RemoteError("Milvus at 'http://secret:19530': away"))
    assert status == 503
    assert "secret" not in body["error"]
