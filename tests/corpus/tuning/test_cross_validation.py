import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged
from ranklet.corpus.tuning import cross_validation
from ranklet.corpus.tuning.coordinate_ascent import FusionWeights
from ranklet.corpus.tuning.cross_validation import FOLDS, GRID, check_folds, held_out, interpolate
from ranklet.runtime.errors import InputError


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


def test_alpha_is_the_best_of_the_grid_and_the_value_is_held_out() -> None:
    given = judged()
    found = interpolate(given, folds=4)
    by_alpha = {alpha: slow_mrr(given, alpha) for alpha in GRID}
    assert found.alpha == max(GRID, key=lambda alpha: by_alpha[alpha].mean())
    assert len(found.alphas) == 4
    fold_of = np.random.default_rng(0).permutation(40) % 4
    held_out = []
    for fold, alpha in enumerate(found.alphas):
        others = fold_of != fold
        assert alpha == max(GRID, key=lambda each: by_alpha[each][others].mean())
        held_out += by_alpha[alpha][~others].tolist()
    assert found.value == pytest.approx(np.mean(held_out))
    assert found.value <= by_alpha[found.alpha].mean()
    assert 0.2 < found.alpha < 0.8
    again = interpolate(given, folds=4)
    assert (again.alpha, again.alphas) == (found.alpha, found.alphas)
    assert again.values.tolist() == found.values.tolist()


def test_what_is_not_allowed_is_refused() -> None:
    with pytest.raises(InputError, match="from 2 to 40"):
        check_folds(41, rankers=2, queries=40)
    with pytest.raises(InputError, match="two rankers, but there are 3"):
        check_folds(2, rankers=3, queries=40)


def test_weights_of_a_query_are_not_learned_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def learned(given: Judged, measure: str, *, restarts: int) -> FusionWeights:
        seen.append(len(given.mask))
        return FusionWeights((0.5, 0.5), 0.0, ())

    monkeypatch.setattr(cross_validation, "coordinate_ascent", learned)
    values = held_out(judged(10), "MRR@10")
    assert seen == [8] * FOLDS
    np.testing.assert_allclose(values, slow_mrr(judged(10), 0.5))
