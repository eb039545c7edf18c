"""The zero-shot benchmark, end to end on tiny collections; it learns from no medical text."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.cross_encoders import marking_zero_shot
from benchmarks.cross_encoders.marking_zero_shot import (
    ONE_OF_EACH,
    SYSTEMS,
    Second,
    section,
    without_part,
)
from benchmarks.cross_encoders.scope import SMALL
from benchmarks.cross_encoders.systems import CROSS_ENTROPY, VANILLA, marked
from tests.benchmarks.cross_encoders.miniature import OPTIONS, miniature

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


SYSTEM = marked("Pre-Pair", "pre_pair")


def test_the_ways_of_the_thesis_are_there() -> None:
    settings = [each.settings_of(SMALL) for each in SYSTEMS]
    assert {each.marking for each in settings} == {
        "none", "sim_doc", "sim_pair", "pre_doc", "pre_pair",
    }  # fmt: skip
    assert {each.expansion for each in settings} == {"none", "mask", "hash"}
    assert {each.head for each in settings} >= {"marker_avg", "marker_max", "marker_first"}
    assert {each.loss for each in SYSTEMS} == {CROSS_ENTROPY}


def test_a_run_without_a_gpu_has_one_of_each_way_and_several_seeds_of_the_main_two() -> None:
    seeds = {each.label.removesuffix(", cross-entropy"): each.seeds for each in ONE_OF_EACH}
    assert seeds.pop("vanilla") == seeds.pop("Sim-Pair") == (0, 1, 2)
    assert set(seeds.values()) == {(0,)}
    labels = [each.label for each in SYSTEMS]
    assert {each.label for each in ONE_OF_EACH} < set(labels)
    assert len(set(labels)) == len(labels)


def test_nothing_of_the_part_that_is_left_out_is_learned(
    tiny: "TinyRankers", tmp_path: Path
) -> None:
    source = without_part(miniature(tiny, tmp_path))
    assert not [each.id for each in source.collection.documents() if each.id.startswith("md-")]
    for split in ("train", "held"):
        queries = source.collection.queries(split)
        assert queries
        assert not [each.id for each in queries if each.id.startswith("md-")]
        assert source.collection.lacking(
            name for grades in source.collection.qrels(split).values() for name in grades
        ) == set()  # fmt: skip


@pytest.mark.slow
def test_systems_are_read_in_windows_and_compared(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.cross_encoders.trainings.RATES", (1e-3,))
    windows = {**marking_zero_shot.WINDOWS, "window": 4, "stride": 2}
    monkeypatch.setattr(marking_zero_shot, "WINDOWS", windows)
    scope = miniature(tiny, tmp_path)
    # The tiny tokenizer has no #.
    labels = ("vanilla", "Pre-Pair", "vanilla + 8 [MASK]")
    named = {each.label.removesuffix(", cross-entropy"): each for each in SYSTEMS}
    systems = [named[label] for label in labels]
    phases = [Second(each.label, each, each) for each in (VANILLA, SYSTEM)]
    text = section(scope, systems, options=OPTIONS, second=phases)
    for each in systems:
        rows = [line for line in text.splitlines() if line.startswith(f"| {each.label} |")]
        assert len(rows) == 2, each.label
    for phase in phases:
        rows = [line for line in text.splitlines() if line.startswith(f"| {phase.label} |")]
        assert len(rows) == 2, phase.label
    assert "### scifact: 6 queries of test, BM25's first 4 reranked" in text
    assert "After a second phase on medquad:" in text
    assert "After a second phase on scifact:" in text

    # What is kept is not made again.
    monkeypatch.setattr("ranklet.training.rankers.cross_encoder.training.train", None)
    monkeypatch.setattr("benchmarks.cross_encoders.served.export_bundle", None)
    assert section(scope, systems, options=OPTIONS, second=phases) == text
