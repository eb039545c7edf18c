"""The benchmark of learning rates, end to end on a tiny collection."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.cross_encoders import cross_rates
from benchmarks.cross_encoders.cross_rates import RATES, held_out, section
from benchmarks.cross_encoders.trainings import Source, qa_mix
from benchmarks.harness.place import Place
from tests.benchmarks.cross_encoders.miniature import OPTIONS, miniature

from ranklet.training.data.splits import read_split
from ranklet.training.rankers.cross_encoder.options import Options

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


def whole(place: Place) -> Source:
    """Return qa-mix with all of train held out, because a tenth of the miniature is too little."""
    return replace(qa_mix(place), held_out="train")


def test_the_default_of_the_command_is_among_the_rates() -> None:
    assert Options().learning_rate in RATES


def test_queries_that_chose_weights_are_not_asked_again(
    tiny: "TinyRankers", tmp_path: Path
) -> None:
    scope = miniature(tiny, tmp_path)
    source = whole(scope.place)
    chose = read_split(source.collection, source.held_out, limit=scope.sizes.pool)
    asked = {query.id for query in held_out(scope, source).queries}
    assert asked
    assert asked.isdisjoint(query.id for query in chose)


@pytest.mark.slow
def test_each_rate_has_a_row_and_the_first_is_the_base(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_rates, "qa_mix", whole)
    rates = (1e-4, 1e-3)
    text = section(miniature(tiny, tmp_path), rates, OPTIONS)
    rows = [
        line.split("|") for line in text.splitlines() if line.startswith(("| 0.0001", "| 0.001"))
    ]
    assert [row[1].strip() for row in rows] == ["0.0001", "0.001"]
    assert "MRR@10 − 0.0001's (95 %)" in text
    assert not rows[0][7].strip()
    assert " to " in rows[1][7]
