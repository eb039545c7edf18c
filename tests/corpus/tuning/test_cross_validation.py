from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged
from ranklet.corpus.tuning import cross_validation
from ranklet.corpus.tuning.cross_validation import weigh_features


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


@pytest.mark.parametrize("size", [1, 2])
def test_weights_of_a_query_are_not_learned_on_it(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    seen: list[list[int]] = []

    def learner(given: Judged, _: str) -> Callable[[NDArray[np.integer]], tuple[float, ...]]:
        def learn(rows: NDArray[np.integer]) -> tuple[float, ...]:
            seen.append(rows.tolist())
            return (0.5, 0.5)

        return learn

    monkeypatch.setattr(cross_validation, "_learner", learner)
    grouped = np.arange(20) // size
    weights, values = weigh_features(judged(20), "MRR@10", grouped=grouped, measured=12)
    *taught, whole = seen
    assert weights == (0.5, 0.5)
    assert whole == [*range(20)]
    held = [sorted(set(range(20)) - set(rows)) for rows in taught]
    assert sorted(at for rows in held for at in rows if at < 12) == [*range(12)]
    for rows, own in zip(taught, held, strict=True):
        assert not set(grouped[rows]) & set(grouped[own])  # a group is on one side
    np.testing.assert_allclose(values, slow_mrr(judged(20), 0.5)[:12])


def test_two_weights_are_better_than_one_whatever_their_scales() -> None:
    given = judged(60)
    (first, second), values = weigh_features(given, "MRR@10")
    alone = slow_mrr(given, 1.0).mean(), slow_mrr(given, 0.0).mean()
    both = slow_mrr(given, first / (first + second)).mean()
    assert max(alone) < values.mean() <= both + 0.02
    scaled = replace(given, features=given.features * np.array([1, 4096], np.float32))
    (one, other), again = weigh_features(scaled, "MRR@10")
    assert again.tolist() == values.tolist()
    assert other / one == pytest.approx(second / first / 4096, rel=0.01)
