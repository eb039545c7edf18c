"""The benchmark of long documents, end to end on tiny collections: it runs unattended."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.long_documents import needle
from benchmarks.long_documents.needle import FIRST, HEADS, READINGS, networks, section
from tests.benchmarks.cross_encoders.miniature import OPTIONS, miniature

from ranklet.training.checkpoint import read_checkpoint

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_every_head_is_measured_with_every_reading(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.cross_encoders.trainings.RATES", (1e-3,))
    scope = miniature(tiny, tmp_path)
    text = section(scope, OPTIONS)
    titles = [line for line in text.splitlines() if line.startswith("### ")]
    assert [title.split(":")[0][4:] for title in titles] == [
        "needle, anywhere",
        "needle, always first (control)",
        "scifact, titles and abstracts",
        "medquad without titles, relevant texts of more than 3 word pieces",
    ]
    for head in HEADS:
        for reading in READINGS:
            name = f"| {head.label}, {reading.label} |"
            rows = [line for line in text.splitlines() if line.startswith(name)]
            assert len(rows) == len(titles), name
            compared = [bool(row.split("|")[5].strip()) for row in rows]
            assert set(compared) == {reading.long}, name

    trained, _ = networks(scope)
    made_of = {
        (each.head.label, each.reading.label): read_checkpoint(each.path).training["backbone"]
        for each in trained
    }
    for head in HEADS:
        starts = {made_of[head.label, each.label] for each in READINGS if each.trained}
        assert len(starts) == 1  # all go on from the body of their own head
    assert made_of["vanilla", FIRST.label] != made_of["BERT-Model1", FIRST.label]

    # What is kept is not made again.
    monkeypatch.setattr("ranklet.training.rankers.cross_encoder.training.train", None)
    monkeypatch.setattr("benchmarks.cross_encoders.served.export_bundle", None)
    monkeypatch.setattr("ranklet.runtime.load", None)
    assert section(scope, OPTIONS) == text
    assert sum(needle.estimated(scope.sizes).values()) > 0
