"""Trainings of the papers are compared on the queries that both systems ranked."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kinds import SHORT_TEXTS

from ranklet.corpus.collections.trec import read_run
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.training.pretrained.backbone import WHEEL_PACKAGE

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

plans = pytest.importorskip("benchmarks.papers.plans")
trainings = pytest.importorskip("benchmarks.papers.paper_trainings")
comparing = pytest.importorskip("benchmarks.papers.comparing")
rankers = pytest.importorskip("benchmarks.papers.trained_rankers")
stage = pytest.importorskip("benchmarks.papers.last_stage")
harness = pytest.importorskip("benchmarks.harness.place")


def found(name: str, seed: int, ranked: dict[str, float], bm25: dict[str, float]) -> Any:
    """Return a training with its values, those of its queries."""
    plan = next(each for each in plans.planned() if (each.name, each.seed) == (name, seed))
    values = {"": {"MRR@10": ranked}, plans.BM25: {"MRR@10": bm25}}
    facts = {"machine": "one GPU", "minutes": 2.0, "steps": 5}
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
    assert over_bm25[4:8] == ["1", "40", "0.5098", "0.2500"]
    assert over_other[4:8] == ["1", "30", "0.5100", "0.5000"]
    assert over_other[8].startswith("+0.010 (+0.007 to +0.013)")
    assert over_other[10] == "0.004"  # 2.8 standard errors of .0083 / √30
    assert not rows(page, "NDRM1", "TK")
    assert "| NDRM1 | medquad | 1 | 2.0 | 5 | 20,000 |" in page


def test_the_error_has_the_noise_of_seeds() -> None:
    bm25 = {f"q{number}": 0.25 for number in range(40)}
    page = comparing.section([
        found("NDRM1", seed, dict.fromkeys(bm25, value), bm25)
        for seed, value in enumerate((0.27, 0.29))
    ])  # fmt: skip
    (row,) = rows(page, "NDRM1", "BM25")
    assert row[4:8] == ["2", "40", "0.2800", "0.2500"]
    # A deviation of .0141 between two seeds is an error of .01, and t is 12.7 by one of freedom.
    assert row[8] == "+0.030 (-0.097 to +0.157)"
    assert row[9] == "+0.020 +0.040"


def test_an_interval_within_the_margin_is_called_equal() -> None:
    bm25 = {f"q{number}": 0.25 for number in range(40)}
    near = {name: 0.25 + 0.01 * (number % 2) for number, name in enumerate(bm25)}
    (row,) = rows(comparing.section([found("NDRM1", 0, near, bm25)]), "NDRM1", "BM25")
    assert row[8].endswith(" equal")


def test_seeds_are_compared_with_themselves() -> None:
    ranked = {"a": 1.0, "b": 0.5}
    page = comparing.section([found("NDRM1", 1, ranked, ranked), found("NDRM3", 0, ranked, ranked)])
    assert not rows(page, "NDRM1", "NDRM3")


def test_no_training_is_compared_with_one_that_is_not_planned() -> None:
    planned = plans.planned()
    keys = [(plan.name, plan.seed) for plan in planned]
    assert len({*keys}) == len(keys)
    for plan in planned:
        others = {*plan.against} - {plans.BM25, plans.HYBRID}
        assert others <= {each.name for each in planned if {*plan.ranks} <= {*each.ranks}}


@pytest.mark.slow
def test_a_training_that_is_kept_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, plan = harness.Place(tmp_path, tmp_path / "work"), plans.planned()[0]
    monkeypatch.setattr(trainings, "measured", lambda *_: {"steps": 3})
    assert trainings.kept(place, plan) == {"steps": 3}
    monkeypatch.setattr(trainings, "measured", lambda *_: json.loads("broken"))
    assert trainings.kept(place, plan) == {"steps": 3}


def short_pairs(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a last stage that a tiny encoder can read."""
    pytest.importorskip(WHEEL_PACKAGE)
    return {**options, "settings": CrossEncoderSettings(max_tokens=64)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("terms", {"architecture": "ndrm1", "form": "authors"}),
        ("terms", {"architecture": "tk"}),
        ("terms", {"architecture": "tkl"}),
        ("dense", {"loss": "margin", "segments": "distinct", **SHORT_TEXTS}),
        ("cross_encoder", {"marking": "pre_doc"}),
        ("cross_encoder", {"head": "model1", "chunks": 2}),
        ("last_stage", {"loss": "margin"}),
        ("translation", {"network": True}),
        ("translation", {"network": False}),
        *(("student", {"kind": kind, **SHORT_TEXTS}) for kind in ("colbert", "epic", "splade")),
    ],
)
def test_rankers_are_trained_and_rank_what_bm25_finds(
    kind: str,
    options: dict[str, Any],
    tiny: "TinyRankers",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(tiny.data.collection.path, tmp_path / "tiny")
    for name, value in {"LEARN": "train", "TUNE": "train"}.items():
        monkeypatch.setattr(trainings, name, value)
    monkeypatch.setattr(rankers, "SIZES", {"hidden": 16, "heads": 4})
    monkeypatch.setattr(rankers, "TOKENS", 40)
    monkeypatch.setattr(rankers, "MARKS", 24)
    if kind == "last_stage":
        options = short_pairs(options)
    if kind not in ("terms", "translation"):
        options["backbone"] = tiny.data.bert
    plan = plans.Training("it", kind, options, "tiny", ("tiny",), 2)
    made = trainings.measured(harness.Place(tmp_path, tmp_path / "work"), plan)
    assert made["steps"] == (0 if options.get("network") is False else 2)
    values = made["values"]["tiny"]
    assert values[""]["MRR@10"].keys() == values["BM25"]["MRR@10"].keys()
    assert values["BM25"]["R@1000"].values() != {0.0}
    if kind not in ("dense", "last_stage"):  # the same documents in another order
        assert values[""]["R@1000"] == values["BM25"]["R@1000"]
        assert values[""]["MRR@10"] != values["BM25"]["MRR@10"]


@pytest.mark.slow
def test_a_second_phase_begins_where_the_first_ended(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny.data.collection.path, tmp_path / "tiny")
    for name, value in {"LEARN": "train", "TUNE": "train"}.items():
        monkeypatch.setattr(trainings, name, value)
    monkeypatch.setattr(rankers, "TOKENS", 40)
    place, made, trained = harness.Place(tmp_path, tmp_path / "work"), [], rankers.cross.train

    def watched(*given: Any, **named: Any) -> Any:
        made.append(trained(*given, **named))
        return made[-1]

    monkeypatch.setattr(rankers.cross, "train", watched)
    for options in ({"saves": "a b", "backbone": tiny.data.bert}, {"goes_on": "a b"}):
        plan = plans.Training("it", "cross_encoder", options, "tiny", ("tiny",), 1)
        trainings.measured(place, plan)
    assert made[1].training["backbone"] == "papers.a_b.0"


@pytest.mark.slow
def test_students_learn_what_last_stages_teach(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny.data.collection.path, tmp_path / "tiny")
    for name, value in {"LEARN": "train", "TUNE": "train", "SEEDS": (0, 1)}.items():
        monkeypatch.setattr(trainings, name, value)
    place, own = harness.Place(tmp_path, tmp_path / "work"), {"backbone": tiny.data.bert}
    place.work.mkdir()
    for seed in (0, 1):
        options = short_pairs({"loss": "softmax", **own})
        plan = plans.Training("it", "last_stage", options, "tiny", ("tiny",), 2, seed=seed)
        made = trainings.measured(place, plan)
        assert {"", plans.HYBRID, stage.ALONE, "BM25"} == made["values"]["tiny"].keys()
        assert 0 <= made["chosen"]["weight of BM25"] <= 1
    taught = {"kind": "colbert", "teachers": "softmax", "negatives_each": 2, **SHORT_TEXTS, **own}
    plan = plans.Training("it", "student", taught, "tiny", ("tiny",), 2)
    assert trainings.measured(place, plan)["steps"] == 2
    first, second, mean = (
        read_run(place.work / f"papers.teacher.{name}.run") for name in ("0", "1", "0.run.mean")
    )
    for query, scores in mean.items():
        for name, score in scores.items():
            assert score == pytest.approx((first[query][name] + second[query][name]) / 2)
