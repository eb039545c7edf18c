"""The command lists queries that nothing answers, and the example of its page runs."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.commands.running import Capture, fails, succeeds
from tests.docs.pages import ROOT, blocks

from ranklet.runtime import load
from ranklet.workflows.build import build

ASKED = [
    "gluten free bread", "vegan brioche", "", "gluten free bread", "gluten", "does dough rest",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    texts = ["Let the dough rest.", "Fresh yeast keeps for weeks.", "Rye needs a starter."]
    records = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts)]
    build(records, "search.ranklet", language="en")
    Path("queries.txt").write_text("\n".join(ASKED), "utf-8")
    return tmp_path


def test_groups_and_examples_are_printed(folder: Path, capsys: Capture) -> None:
    said = succeeds(capsys, "gaps", folder / "search.ranklet", "queries.txt", "--examples", 1)
    assert said.splitlines() == [
        "4 of 5 queries (80.0%) have no hit that is 20% likely to answer", "",
        "     3  gluten (in no document)", "        2 × gluten free bread  (0%; no hit)", "",
        "     1  vegan (in no document)", "        vegan brioche  (0%; no hit)",
    ]  # fmt: skip


def test_json_has_every_query(folder: Path, capsys: Capture) -> None:
    rows = [{"text": each} for each in ASKED if each]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    found = json.loads(succeeds(capsys, "gaps", "search.ranklet", "q.jsonl", "--json"))
    assert (found["queries"], found["unanswered"], found["below"]) == (5, 4, 0.2)
    assert [(each["word"], each["documents"], each["count"]) for each in found["gaps"]] == [
        ("gluten", 0, 3), ("vegan", 0, 1)
    ]  # fmt: skip
    assert found["gaps"][0]["queries"][0] == {
        "query": "gluten free bread", "count": 2, "answerable": 0.0,
        "missing": ["gluten", "free", "bread"], "best": None, "suggestion": None,
    }  # fmt: skip


def test_what_cannot_be_read_is_refused_in_one_line(folder: Path, capsys: Capture) -> None:
    bundle = folder / "search.ranklet"
    assert "does not exist; give a file" in fails(capsys, "gaps", bundle, "none.txt")
    assert "below must be above 0 and up to 1" in fails(
        capsys, "gaps", bundle, "queries.txt", "--below", 7
    )
    assert "--examples must be a whole number" in fails(
        capsys, "gaps", bundle, "queries.txt", "--examples", -1
    )
    Path("clicks.csv").write_text("query,id\na,b\n", "utf-8")
    assert "is a table" in fails(capsys, "gaps", bundle, "clicks.csv")
    assert "unknown pipeline 'x'" in fails(capsys, "gaps", bundle, "queries.txt", "--pipeline", "x")


@pytest.mark.usefixtures("folder")
def test_the_example_of_the_page_runs(capsys: Capture) -> None:
    page = (ROOT / "docs/answers.md").read_text("utf-8").split("## What people do not find")[1]
    said = ""
    for block in blocks(page.split("\n## ")[0]):
        if block.language == "text":
            assert said == block.code
        elif block.language == "sh":
            said = succeeds(capsys, *shlex.split(block.code, comments=True)[1:])
        else:
            names: dict[str, Any] = {"bundle": load("search.ranklet")}
            exec(block.code, names)  # noqa: S102
            gap = names["found"].gaps[0]
            assert (gap.word, gap.count) == ("gluten", 2)
