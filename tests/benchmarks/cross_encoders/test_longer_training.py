"""A longer training is compared with the short one, and both with BM25."""

import numpy as np
import pytest
from numpy.typing import NDArray

longer = pytest.importorskip("benchmarks.cross_encoders.longer_training")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
pipelines = pytest.importorskip("benchmarks.all_systems.pipelines")
measures = pytest.importorskip("ranklet.training.evaluation.systems").MEASURES
QUERIES, READ = 300, 200


def studied(gain: float, seed: int) -> object:
    """Return systems whose cross-encoder, which has read some queries, is above BM25."""
    pytest.importorskip("scipy")
    base = np.random.default_rng(0).uniform(0.2, 0.6, QUERIES)
    noise = np.random.default_rng(seed)

    def above(step: float, read: int = QUERIES) -> dict[str, NDArray[np.float64]]:
        values = base + step + noise.normal(0, 0.02, QUERIES)
        values[read:] = np.nan
        return dict.fromkeys(measures, values)

    values = {
        longer.BASE: dict.fromkeys(measures, base),
        longer.ENCODER: above(0.05),
        **{use: above(gain, READ) for use in longer.USES},
    }
    reads = pipelines.Reads.PAIRS
    recipe = pipelines.Pipeline((pipelines.Retrieve("bm25", 9),))
    systems = [pipelines.System(longer.READS_LAST, recipe, reads, f"{gain} · cross-encoder")]
    return comparing.Studied(9, QUERIES, 5, systems, values, {})


def test_what_the_longer_training_adds_is_tested_against_the_short_one() -> None:
    text = longer.section({"400 steps": studied(0.02, 1), "1,600 steps": studied(0.12, 2)})
    assert text.lstrip().startswith(f"{READ} dev queries")
    (row,) = (line for line in text.splitlines() if f"| {longer.READS_LAST}, 1,600" in line)
    _, first, *_, gain = row.strip("| ").split(" | ")
    assert first.endswith("‡**")
    assert gain.startswith("+0.1")
    (row,) = (line for line in text.splitlines() if f"| {longer.READS_LAST}, 400" in line)
    assert "*" not in row
    goals = [line for line in text.splitlines() if line.startswith("- Goal")]
    assert [line.endswith("**missed**.") for line in goals] == [True, False]


def test_a_longer_training_may_be_worse() -> None:
    text = longer.section({"400 steps": studied(0.12, 1), "1,600 steps": studied(-0.1, 2)})
    (row,) = (line for line in text.splitlines() if f"| {longer.READS_LAST}, 1,600" in line)
    assert "−‡−**" in row
