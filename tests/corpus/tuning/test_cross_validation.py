import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged
from ranklet.corpus.tuning import cross_validation
from ranklet.corpus.tuning.coordinate_ascent import FusionWeights
from ranklet.corpus.tuning.cross_validation import FOLDS, held_out


def judged(queries: int = 40, seed: int = 0) -> Judged:
    """Return two features that are each half of what tells the relevant document."""
    rng = np.random.default_rng(seed)
    features, grades = [], []
    for _ in range(queries):
        rows = rng.normal(size=(20, 2))
        relevant = int(rng.integers(20))
        rows[relevant] += 1.5
        features.append(rows)
        grades.append((np.arange(20) == relevant).astype(float))
    return Judged.from_lists(features, grades)


def slow_mrr(given: Judged, alpha: float) -> NDArray[np.float64]:
    found = []
    for rows, at in zip(given.features, given.relevant_column, strict=True):
        scores = alpha * rows[:, 0] + (1 - alpha) * rows[:, 1]
        rank = 1 + int((scores > scores[at]).sum())
        found.append(1 / rank if rank <= 10 else 0.0)
    return np.array(found)


def test_weights_of_a_query_are_not_learned_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def learned(given: Judged, measure: str, *, restarts: int) -> FusionWeights:
        seen.append(len(given.mask))
        return FusionWeights((0.5, 0.5), 0.0)

    monkeypatch.setattr(cross_validation, "coordinate_ascent", learned)
    values = held_out(judged(10), "MRR@10")
    assert seen == [8] * FOLDS
    np.testing.assert_allclose(values, slow_mrr(judged(10), 0.5))
    seen.clear()
    values = held_out(judged(30), "MRR@10", measured=10)  # the others are in every fold
    assert seen == [28] * FOLDS
    np.testing.assert_allclose(values, slow_mrr(judged(30), 0.5)[:10])
