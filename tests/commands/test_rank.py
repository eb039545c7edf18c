import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, process, strict, succeeds
from tests.metadata_rows import PRICE, WORDS

from ranklet.commands.rank.answers import ROWS
from ranklet.runtime import Bundle

if TYPE_CHECKING:
    from tests.conftest import Built, Described


def test_rank_prints_hits_for_people(built: "Built", capsys: Capture) -> None:
    text = succeeds(capsys, "rank", built.fused, "knead dough", "-k", 2, "--explain")
    assert text.startswith(" 1. ")
    assert "Baking bread" in text
    assert "knead" in text
    assert "ms)" in text
    assert "ms)" not in succeeds(capsys, "rank", built.fused, "knead dough")
    assert "more rows (--json, or explain --html FILE, shows all)" in text
    assert len(text.splitlines()) <= 2 * (2 + ROWS + 1) + 1
    nothing = succeeds(capsys, "rank", built.fused, "gnorp")
    assert nothing == "no hits for 'gnorp'\n"
    beyond = succeeds(capsys, "rank", built.fused, "dough", "--offset", 1_000)
    assert beyond.startswith("no hits for 'dough' after the first 1,000\n")
    assert "because -k is 0" in succeeds(capsys, "rank", built.fused, "dough", "-k", 0)
    only_stopped = succeeds(capsys, "rank", built.fused, "to be or not to be")
    assert only_stopped.splitlines()[1:] == ["left out as stop words: to, be, or, not"]


def test_rank_says_what_there_was_no_time_for(built: "Built", capsys: Capture) -> None:
    options = ("knead dough", "--budget-ms", "0")
    text = succeeds(capsys, "rank", built.fused, *options)
    assert text.splitlines()[-1].startswith("no time for: rescore by model1; rescore by")
    found = strict(succeeds(capsys, "rank", built.fused, *options, "--json"))
    assert found["budget_spent"] is True
    assert found["left_out"] == ["rescore by model1", "rescore by model1_pieces"]
    assert found["hits"]


@pytest.mark.parametrize("query", ["knead dough", "gnorp", "café\udcff", "\0"])
@pytest.mark.parametrize("explain", [(), ("--explain",)])
def test_rank_prints_json_for_machines(
    built: "Built", capsys: Capture, query: str, explain: tuple[str, ...]
) -> None:
    options = ("-k", "3", "--json", "--pipeline", "rrf", *explain)
    found = strict(succeeds(capsys, "rank", built.fused, query, *options))
    assert set(found) == {"query", "hits", "ms", "budget_spent", "left_out", "truncated"}
    hits = Bundle(built.fused).rank(query, k=3, pipeline="rrf")
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [(h.id, h.score) for h in hits]
    assert all(("explanation" in hit) == bool(explain) for hit in found["hits"])


def test_queries_may_come_from_standard_input(
    built: "Built", capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "knead dough\n\n  \ngnorp\r\ncafé\n".encode() + b"caf\xff\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    text = succeeds(capsys, "rank", built.fused, "-", "--json", "-k", 1)
    asked = [strict(line)["query"] for line in text.splitlines()]
    assert asked == ["knead dough", "gnorp", "café", "caf\ufffd"]


@pytest.mark.slow
def test_a_bundle_without_a_pipeline_says_so(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    succeeds(capsys, "export", built.checkpoints["model1"], "-o", tmp_path / "m")
    succeeds(capsys, "index", tmp_path / "m", built.collection.path, "-o", tmp_path / "i")
    assert "has no pipeline" in fails(capsys, "eval", tmp_path / "i", built.collection.path)
    assert "cannot retrieve" in fails(capsys, "rank", tmp_path / "i", "dough")


def test_a_terminal_that_knows_no_accents_gets_an_answer(built: "Built") -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("rank", built.fused, "café crème", "-k", 1, env=plain)
    assert (done.returncode, done.stderr) == (0, "")
    assert "caf\\xe9" in done.stdout


def test_a_closed_pipe_ends_the_command_without_an_error(built: "Built") -> None:
    command = [sys.executable, "-m", "ranklet", "rank", str(built.fused), "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        _, errors = running.communicate(b"dough\n" * 500, timeout=300)
    assert errors == b""
    assert running.returncode in (0, 1)


def test_hits_are_filtered_and_grouped(described: "Described", capsys: Capture) -> None:
    where, query = {"open": True, "year": {">=": 2019}}, " ".join(WORDS)
    given = ("rank", described.path, query, "--where", json.dumps(where))
    text = succeeds(capsys, *given, "-k", 2, "--offset", 1)
    hit = described.bundle.rank(query, k=2, where=where)[1]
    assert text.startswith(f" 2. {hit.score:8.4f}  {hit.id}")
    assert "open: true · " in text
    assert f"year: {hit.metadata['year']}" in text
    options = ("--group-by", "year", "--group-size", 2, "--min-score", 0.01, "--json")
    found = strict(succeeds(capsys, *given, *options))
    wanted = described.bundle.rank(
        query, where=where, group_by="year", group_size=2, min_score=0.01
    )
    assert found["hits"] == wanted.to_dict()["hits"]
    typed = ("--where", "open=yes", "year>=2019", json.dumps({PRICE: {"missing": False}}))
    for words in ((query, *typed), (*typed, query)):
        hits = strict(succeeds(capsys, "rank", described.path, *words, "--json"))["hits"]
        both = {"and": [where, {PRICE: {"missing": False}}]}
        assert hits == described.bundle.rank(query, where=both).to_dict()["hits"]
    for wrong, message in (("{", "--where is not JSON"), ("[1]", "--where must be a JSON object"),
                           ('{"year": 1, "year": 2}', "'year' stands twice"),
                           ('{"yaer": 1}', "unknown field 'yaer'"),
                           ("yaer=1", "did you mean 'year'")):  # fmt: skip
        assert message in fails(capsys, "rank", described.path, query, "--where", wrong)


def test_syntax_and_typos_are_options(built: "Built", capsys: Capture) -> None:
    def ids(query: str, *options: str) -> set[str]:
        found = strict(succeeds(capsys, "rank", built.fused, query, "--json", *options))
        return {hit["id"] for hit in found["hits"]}

    plain = ids("dough -bread")
    assert ids("dough bread") == plain
    assert ids("dough -bread", "--syntax") < plain
    assert "not closed" in fails(capsys, "rank", built.fused, '"dough', "--syntax")
    text = succeeds(capsys, "rank", built.fused, "daugh", "--typos")
    assert text.startswith("searched for 'dough' instead of 'daugh'\n 1. ")


def test_rank_counts_and_sorts(described: "Described", capsys: Capture) -> None:
    query, ranges = " ".join(WORDS), '{"year": {"ranges": [[2018, 2021], [2021, null]]}}'
    options = ("--facet", "category", "--facet", ranges, "--sort=-due", "--sort", "year")
    found = strict(succeeds(capsys, "rank", described.path, query, *options, "--json"))
    facets = {"category": {}, "year": {"ranges": [[2018, 2021], [2021, None]]}}
    wanted = described.bundle.rank(query, facets=facets, sort=["-due", "year"]).to_dict()
    assert (found["hits"], found["facets"]) == (wanted["hits"], wanted["facets"])
    text = succeeds(capsys, "rank", described.path, query, *options)
    first, second = (each["count"] for each in found["facets"]["year"])
    assert "\n48 documents match\ncategory: " in text
    assert f"\nyear: 2018–<2021 ({first}) · 2021–< ({second})\n" in text
    assert "--facet is not JSON" in fails(capsys, "rank", described.path, query, "--facet", "{")
    assert "unknown field" in fails(capsys, "rank", described.path, query, "--sort=-yaer")
