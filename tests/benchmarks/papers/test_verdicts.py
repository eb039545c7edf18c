"""A rule makes every verdict of docs/papers.md, from the evidence that is kept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT

verdicts = pytest.importorskip("benchmarks.papers.verdicts")
relations = pytest.importorskip("benchmarks.papers.relations")
page = pytest.importorskip("benchmarks.papers.page")
plans = pytest.importorskip("benchmarks.papers.plans")

Cell, Claim = verdicts.Cell, verdicts.Claim


def test_the_page_is_what_the_rule_makes() -> None:
    # `python -m benchmarks.papers.page` writes it anew.
    assert page.PAGE.read_text("utf-8") == page.make_page(relations.judge_all())


def test_what_measures_a_relation_again_can_be_typed() -> None:
    archived = set(
        re.findall(r"\| `(\w+)` \|.* (\w+) \|", (ROOT / "benchmarks/archive.md").read_text())
    )
    studies = {name for name, _ in archived} | {"cross_speed"}
    for judged in relations.judge_all():
        again = judged.given.get("again", "")
        if study := re.fullmatch(r"(\w+), \w+\^", again):
            assert study[1] in studies
        else:
            assert again or judged.given["why"]
            assert not again or plans.named([*plans.planned(), *plans.on_processors()], [again])


@pytest.mark.parametrize(
    ("sign", "value", "error", "p", "verdict"),
    [
        ("more", 0.1, 0.01, 0.001, "met"), ("more", -0.1, 0.01, 0.001, "missed"),
        ("more", 0.1, 0.06, 0.1, "level"), ("less", -0.1, 0.01, 0.001, "met"),
        ("less", 0.1, 0.01, 0.001, "missed"), ("equal", 0.003, 0.001, 0.004, "met"),
        ("equal", 0.02, 0.002, 0.001, "missed"), ("equal", 0.002, 0.02, 0.9, "level"),
        ("number", 0.7, 0.0, 1.0, "met"), ("number", 0.1, 0.0, 1.0, "missed"),
    ],
)  # fmt: skip
def test_a_cell_has_a_verdict(
    sign: str, value: float, error: float, p: float, verdict: str
) -> None:
    claim, cell = Claim(sign, low=0.5, high=0.9), Cell(value, error, 500)
    assert verdicts.judge_cell(claim, cell, p) == verdict
    assert verdicts.judge_cell(claim, cell._replace(nothing="no runs"), p) == "undecided"


def test_only_what_decides_is_corrected_for() -> None:
    cells = [Cell(0.1, 0.04, 500), Cell(0.1, 0.04, 500, nothing="former"), Cell(0.1, p=0.02)]
    first, second = verdicts.correct(cells)[0], verdicts.correct([cells[0]] * 2)[0]
    assert second == pytest.approx(2 * first)
    assert verdicts.correct(cells)[2] == 0.02


def run(name: str, seed: int, values: list[float], start: str = "") -> dict[str, Any]:
    kept = {"": {"MRR@10": values}, "BM25": {"MRR@10": [0.25] * len(values)}}
    return {"training": name, "seed": seed, "collection": "medquad", "start": start, "values": kept}


BEGUN = "MiniLM untrained"


def judged(tmp_path: Path, runs: list[dict[str, Any]], other: str, noise: str) -> Any:
    """Return the only cell of a relation between a training and another system."""
    table, kept = tmp_path / "relations.toml", tmp_path / "runs.jsonl"
    cell = f'on = "m", runs = ["new", "{other}"], noise = "{noise}"'
    table.write_text(
        f'[noise]\n[[relation]]\npaper = "A"\nsays = "B"\nclaim = "more"\ncells = [{{ {cell} }}]'
    )
    kept.write_text("".join(f"{json.dumps(each)}\n" for each in runs))
    (found,) = relations.judge_all(table, kept)
    return found


def test_runs_are_compared_query_by_query_and_with_their_start(tmp_path: Path) -> None:
    ours, low, high = [0.4, 0.5] * 200, [0.1] * 300, [0.6] * 300
    several = [run("new", seed, ours, BEGUN) for seed in range(3)]
    found = judged(tmp_path, several, "BM25", "encoder")
    assert (found.verdict, found.cells[0][0]["n"]) == ("met", 400)
    assert found.cells[0][1].value == pytest.approx(0.2)
    found = judged(tmp_path, [*several, run(BEGUN, 0, high)], "BM25", "encoder")
    assert (found.verdict, found.cells[0][1].nothing) == ("undecided", "start .600")
    found = judged(tmp_path, [*several, run(BEGUN, 0, low)], BEGUN, "encoder")
    assert (found.verdict, found.cells[0][0]["n"]) == ("met", 300)
    worse = [run("new", 0, low), run("old", 0, [0.05] * 300)]
    found = judged(tmp_path, worse, "old", "encoders")
    assert (found.verdict, found.cells[0][1].nothing) == ("undecided", "BM25 .250")
    assert judged(tmp_path, several, "none", "encoders").cells[0][1].nothing == "no runs"


def test_seeds_count_in_the_error() -> None:
    alone = verdicts.join_errors(0.01, 500, 0.03, 9, 1)
    three = verdicts.join_errors(0.01, 500, 0.03, 9, 3)
    assert alone.error == pytest.approx(0.001**0.5)
    assert three.error == pytest.approx(0.02)
    assert alone.freedom < three.freedom < 499
    assert verdicts.join_errors(0.01, 500, 0.03, 9, 0).error == 0.01
