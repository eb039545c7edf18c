"""The benchmark of dense search, on a tiny collection."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarks.dense import dense_search
from benchmarks.harness.place import Place

from ranklet.training.imported.importing import read_model

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_every_way_is_compared_with_exact_search(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hnswlib")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "google-wiki").symlink_to(tiny.data.collection.path)
    for name, value in {
        "SIZES": (90,), "QUERIES": 5, "ROUNDS": 1, "TOKENS": 8,
        "read_model": lambda _: read_model(tiny.data.bert),
        "unjudged_probes": lambda _: tiny.checkpoint("dense").probes,
    }.items():  # fmt: skip
        monkeypatch.setattr(dense_search, name, value)
    place = Place(tmp_path / "data", tmp_path / "work")
    text = dense_search.run(place)
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    assert [row[1].strip() for row in rows] == list(dense_search._ways())
    recalls = {row[1].strip(): float(row[2]) for row in rows}
    assert recalls[dense_search.EXACT] == 1
    assert min(recalls.values()) >= 0.9

    stored = np.load(dense_search.vectors(place, 90))
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1, rtol=1e-3)


def test_recall_is_the_share_of_what_was_wanted() -> None:
    assert dense_search.recalls([[1, 2], [5, 6]], [[2, 1], [6, 7]]) == 0.75
