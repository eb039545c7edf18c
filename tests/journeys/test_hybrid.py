"""Sparse and dense retrieval and a neural table in one bundle."""

from pathlib import Path
from typing import Any

import pytest
from tests.kinds import TinyRankers

from ranklet.runtime import load

HYBRID: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 20},
    {"stage": "retrieve", "ranker": "dense", "k": 20},
    {"stage": "rescore", "ranker": "neural"},
    {
        "stage": "fuse",
        "method": "linear",
        "inputs": ["bm25", "dense", "neural"],
        "weights": [0.5, 0.1, 0.4],
    },
]


@pytest.mark.slow
def test_a_hybrid_pipeline_ranks_explains_and_names_its_providers(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoints = {**tiny.checkpoints("dense"), **tiny.checkpoints("neural_model1")}
    bundle = load(tiny.build(tmp_path, checkpoints), device="cpu")
    ranking = bundle.rank("quiet stream", k=5, pipeline=HYBRID, explain=True)
    assert len(ranking) == 5
    assert ranking.providers == {"dense": "CPUExecutionProvider", "neural": "numpy"}
    for hit in ranking:
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
