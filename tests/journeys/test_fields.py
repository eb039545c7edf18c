"""Fields on all fronts: Python, commands, HTTP, assistants, object storage, and a key's part."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.range_server import RangeServer

import ranklet
from ranklet.commands import main
from ranklet.handlers.api.answers import rank
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.tools import call, tools
from ranklet.runtime import load

ROWS = [
    {"id": "f", "title": "Frankenstein", "text": "One makes a monster.", "author": "Mary Shelley"},
    {"id": "d", "title": "Dracula", "text": "A count bites Mary.", "author": "Bram Stoker"},
    {"id": "o", "title": "Ozymandias", "text": "Look on my works.", "author": "Percy Shelley"},
    {"id": "l", "title": "The Last Man", "text": "All of it. " * 400, "author": "Mary Shelley"},
]  # fmt: skip
CASES: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"query": "author:shelley frankenstein", "syntax": True}, ["f", "l", "o"], []),
    ({"query": 'title:"the last man" OR +dracula', "syntax": True}, ["d", "l"], []),
    ({"query": "mary -author:shelley", "syntax": True}, ["d"], []),
    ({"query": "mary", "fields": {"author": 0}}, ["d"], []),
    ({"query": "isbn:dracula", "syntax": True}, ["d"], ["isbn:"]),
    ({"query": "title:dracula +count"}, ["d"], ["title:", "+"]),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fields")
    source = folder / "books.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in ROWS))
    flags = ["--field", "author", "--field", "title:2", "--language", "en"]
    assert main(["build", str(source), "-o", str(folder / "books.zip"), *flags]) == 0
    return folder / "books.zip"


@pytest.mark.parametrize(("asked", "ids", "ignored"), CASES)
def test_all_fronts_find_the_same(
    path: Path, capsys: pytest.CaptureFixture[str], asked: dict[str, Any], ids: list[str],
    ignored: list[str],
) -> None:  # fmt: skip
    bundle = load(path)
    ranking = bundle.rank(**asked)
    assert sorted({hit.id for hit in ranking}) == ids
    assert [each for each in ranking.ignored if each[-1] in ":+"] == ignored
    reply = rank(bundle, asked, Limits()).body
    assert isinstance(reply, dict)
    assert [hit["id"] for hit in reply["hits"]] == [hit.id for hit in ranking]
    assert reply.get("ignored", []) == list(ranking.ignored)
    schema = tools(bundle, Limits())[0].schema["properties"]["fields"]
    assert "text, author, title" in schema["description"]
    found = call(bundle, "search", asked, Limits()).values
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in ranking]
    flags = ["--syntax"] if "syntax" in asked else []
    flags += ["--fields", json.dumps(asked["fields"])] if "fields" in asked else []
    capsys.readouterr()
    assert main(["rank", str(path), asked["query"], *flags]) == 0
    printed = capsys.readouterr().out
    assert printed.count("author: ") == len(ranking)
    assert ("without a meaning here" in printed) == bool(ignored)


def test_object_storage_and_a_part_find_the_same(path: Path, tmp_path: Path) -> None:
    with RangeServer({"/b.zip": path.read_bytes()}) as server:
        far = load(server.address(), cache=tmp_path)
        for asked, ids, _ in CASES:
            assert sorted({hit.id for hit in far.rank(**asked)}) == ids
    part = load(path).only({"author": "Mary Shelley"})
    for asked, ids, _ in CASES:
        hits = {hit.id for hit in part.rank(**asked)}
        assert sorted(hits) == [each for each in ids if each in ("f", "l")]
    assert part.rank("mary", fields={"author": 3}, facets=["author"]).total == 2


def test_other_languages_and_impacts_of_fewer_bits_have_fields(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": "Der Teig ruht.", "tags": ["Brote", "Roggenbrot"]},
        {"id": "2", "text": "Brot backen und essen.", "tags": ["Küche"]},
    ]
    for impacts in ("float16", "uint8"):
        built = ranklet.build(
            rows, tmp_path / impacts, fields={"tags": 2}, language="de", impacts=impacts
        )
        ranking = built.rank("tags:brot", syntax=True, explain=True)
        assert [hit.id for hit in ranking] == ["1"]
        explained = ranking[0].explanation
        assert explained is not None
        assert explained.value == pytest.approx(ranking[0].score, rel=1e-5)
        assert {part.label for word in explained.parts for part in word.parts} == {"in tags"}
