"""What one front writes all others find: Python, commands, HTTP, MCP, LangChain and LlamaIndex."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.handlers.conftest import MODULE, Server, running

import ranklet
from ranklet.commands import main
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.protocol import Protocol
from ranklet.runtime import load

ROWS = [
    {"id": f"old{at}", "text": text, "year": 2000 + at}
    for at, text in enumerate(("Knead the dough.", "Feed the starter.", "Patch the tyre."))
]
KEY = {"x-api-key": "writer"}


class Front(NamedTuple):
    """One way to write and to ask."""

    add: Callable[[str, str], Any]  # an id and a text
    delete: Callable[[str], Any]
    ids: Callable[[str], list[str]]  # those that a query finds


def of_python(path: Path) -> Front:
    bundle = ranklet.open(path, writable=True)
    assert isinstance(bundle, WritableBundle)
    return Front(
        lambda id_, text: bundle.add([{"id": id_, "text": text}]),
        lambda id_: bundle.delete([id_]),
        lambda query: [hit.id for hit in load(path).rank(query)],
    )


def of_commands(path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Front:
    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main([arguments[0], str(path), *arguments[1:]]) == 0
        return capsys.readouterr().out

    def add(id_: str, text: str) -> None:
        (folder / "new.jsonl").write_text(json.dumps({"id": id_, "text": text}))
        run("update", "--live", "--add", str(folder / "new.jsonl"))

    return Front(
        add,
        lambda id_: run("update", "--live", "--delete", id_),
        lambda query: [hit["id"] for hit in json.loads(run("rank", query, "--json"))["hits"]],
    )


def of_server(server: Server) -> Front:
    def post(path: str, body: Mapping[str, Any]) -> Any:
        reply = server.post(path, body, KEY)
        assert reply.status == 200, reply.body
        return reply.json()

    return Front(
        lambda id_, text: post("/documents", {"documents": [{"id": id_, "text": text}]}),
        lambda id_: post("/documents/delete", {"ids": [id_]}),
        lambda query: [hit["id"] for hit in post("/rank", {"query": query})["hits"]],
    )


def of_assistants(path: Path) -> Front:
    protocol = Protocol(lambda: load(path), Limits(), writer=Writer(str(path)))

    def tool(name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = protocol.answer(message)
        assert answer is not None
        assert not answer["result"]["isError"], answer
        return answer["result"]["structuredContent"]

    return Front(
        lambda id_, text: tool("remember", id=id_, text=text),
        lambda id_: tool("forget", id=id_),
        lambda query: [hit["id"] for hit in tool("search", query=query)["hits"]],
    )


def of_langchain(path: Path) -> Front:
    pytest.importorskip("langchain_core")
    from ranklet.integrations.langchain import RankletVectorStore

    store = RankletVectorStore(path)
    return Front(
        lambda id_, text: store.add_texts([text], ids=[id_]),
        lambda id_: store.delete([id_]),
        lambda query: [str(each.id) for each in store.similarity_search(query)],
    )


def of_llamaindex(path: Path) -> Front:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from ranklet.integrations.llamaindex import RankletVectorStore

    store = RankletVectorStore(path)
    return Front(
        lambda id_, text: store.add([TextNode(id_=id_, text=text)]),
        lambda id_: store.delete_nodes([id_]),
        lambda query: store.query(VectorStoreQuery(query_str=query, similarity_top_k=5)).ids or [],
    )


@contextmanager
def serving(path: Path, folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-W", "error", "-m", MODULE]
    with running(folder, command, path, ready=True, RANKLET_WRITE_KEYS="writer") as server:
        yield server


@pytest.mark.slow
def test_what_one_front_writes_all_others_find(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(ranklet.build(ROWS, tmp_path / "live.ranklet"))
    with serving(path, tmp_path) as server:
        fronts = {
            "Python": of_python(path),
            "commands": of_commands(path, tmp_path, capsys),
            "HTTP": of_server(server),
            "MCP": of_assistants(path),
            "LangChain": of_langchain(path),
            "LlamaIndex": of_llamaindex(path),
        }
        others = [front for name, front in fronts.items() if name != "HTTP"]

        def found(query: str, ids: list[str]) -> None:
            assert [front.ids(query) for front in others] == [ids] * len(others)
            server.wait(lambda: fronts["HTTP"].ids(query) == ids)  # within a second of another's

        for name, front in fronts.items():
            front.add("new", "A zebra.")
            assert front.ids("zebra") == ["new"], name
            found("zebra", ["new"])
            front.add("new", "A giraffe.")
            found("zebra", [])
            found("giraffe", ["new"])
            front.delete("new")
            assert front.ids("giraffe") == [], name
            found("giraffe", [])
    bundle = ranklet.open(path, writable=True)
    assert isinstance(bundle, WritableBundle)
    assert len(bundle.compact()) == len(ROWS)
