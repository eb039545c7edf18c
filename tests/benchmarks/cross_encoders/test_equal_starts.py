"""The benchmark of equal starts, end to end on a tiny collection: it runs unattended."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.cross_encoders import equal_starts
from benchmarks.cross_encoders.equal_starts import Reported, section
from benchmarks.cross_encoders.scope import LARGE, SMALL
from benchmarks.cross_encoders.systems import CROSS_ENTROPY, MODEL1, VANILLA, marked
from tests.benchmarks.cross_encoders.miniature import OPTIONS, miniature

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

# The tiny tokenizer has no #, so these marks are precise ones.
SYSTEMS = (
    replace(VANILLA, seeds=(0, 1)),
    replace(MODEL1, seeds=(0,)),
    marked("Pre-Pair, markers' average", "pre_pair", head="marker_avg"),
    VANILLA.by_cross_entropy(),
)


def test_all_systems_read_equally_many_tokens() -> None:
    settings = [each.settings_of(SMALL) for each in equal_starts.SYSTEMS]
    assert {(each.max_tokens, each.max_query_tokens) for each in settings} == {(128, 32)}
    assert {each.marking for each in settings} > {"none", "sim_pair"}
    assert len({each.label for each in equal_starts.SYSTEMS}) == len(equal_starts.SYSTEMS)


def test_the_main_question_has_three_seeds_and_both_losses_are_there() -> None:
    seeds = {each.label: each.seeds for each in equal_starts.SYSTEMS}
    assert seeds["vanilla"] == seeds["BERT-Model1"] == (0, 1, 2)
    assert any(each.loss == CROSS_ENTROPY for each in equal_starts.SYSTEMS)


def test_a_larger_run_is_estimated_to_take_longer() -> None:
    small, large = equal_starts.estimated(SMALL), equal_starts.estimated(LARGE)
    assert all(large[part] > small[part] for part in ("trainings", "scores"))
    assert sum(small.values()) < 180


@pytest.mark.slow
def test_systems_are_trained_served_and_compared(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.cross_encoders.trainings.RATES", (1e-3,))
    scope = miniature(tiny, tmp_path)
    reported = (Reported("qa-mix"), Reported("medquad", titles=False))
    text = section(scope, SYSTEMS, reported, OPTIONS)
    for name in ("BM25, tuned", "MiniLM untrained, cosine", *(each.label for each in SYSTEMS)):
        rows = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        assert len(rows) == len(reported), name
    assert "0 of 5 networks are served in 8 bits" in text
    assert "### medquad without titles: 6 dev queries, BM25's first 4 reranked" in text
    vanilla, model1 = (
        next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        for name in ("vanilla", "BERT-Model1")
    )
    assert " to " in vanilla.split("|")[6]  # of two seeds
    assert vanilla.split("|")[7].strip() == ""  # nothing to compare with
    assert "(" in model1.split("|")[7]

    # What is kept is not made again.
    monkeypatch.setattr("ranklet.training.rankers.cross_encoder.training.train", None)
    monkeypatch.setattr("benchmarks.cross_encoders.served.export_bundle", None)
    monkeypatch.setattr("ranklet.runtime.load", None)
    assert section(scope, SYSTEMS, reported, OPTIONS) == text
