"""What a Conformer-Kernel retrieves is the order of its pairs' scores over all documents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.rankers.bm25 import BM25Settings

trained_rankers = pytest.importorskip("benchmarks.papers.trained_rankers")
searched = pytest.importorskip("benchmarks.papers.searched")


@pytest.mark.slow
def test_terms_scored_apart_rank_as_pairs_do(tiny_collection: Collection, tmp_path: Path) -> None:
    queries, bm25 = read_split(tiny_collection, "train"), BM25Settings("lemmas")
    options: dict[str, Any] = {
        "architecture": "ndrm3", "sizes": {"hidden": 16, "heads": 4}, "batch": 8, "steps": 2,
        "evaluations": 1, "titles": True, "bm25": bm25, "seed": 0, "reads": 1000,
    }  # fmt: skip
    learned = trained_rankers.on_terms((tiny_collection, queries, queries), options)
    learned.checkpoint.save(tmp_path / "saved")
    goes_on = trained_rankers.retrieving((), {"goes_on": tmp_path / "saved"})
    asked = searched.asked_of(tiny_collection, queries[:8], bm25, titles=True)
    every = np.arange(len(asked.analysed.documents))
    pairs = learned.rank(asked._replace(found=[every] * len(asked.queries)))[""]
    for own, expected in zip(goes_on.rank(asked)[""], pairs, strict=True):
        assert own.tolist() == expected.tolist()
