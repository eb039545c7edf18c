"""A logistic model is found again in what it has made."""

import numpy as np
import pytest

from ranklet.corpus.tuning.calibration import auc, calibration_error, fit_logistic
from ranklet.runtime.pipelines.relevance import chances

TRUE = (-1.0, 2.0, 0.0, -0.5)


def examples(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(count, 3)) * (1.0, 5.0, 2.0)
    return numbers, (rng.random(count) < chances(numbers, TRUE)).astype(float)


def test_the_weights_are_found() -> None:
    assert fit_logistic(*examples(20_000), ridge=1e-6) == pytest.approx(TRUE, abs=0.1)


def test_few_examples_hardly_move_a_prior_and_many_do() -> None:
    prior = (0.0, 0.5, 0.5, 0.5)
    few = fit_logistic(*examples(10), ridge=100.0, prior=prior)
    assert few == pytest.approx(prior, abs=0.02)
    assert fit_logistic(*examples(20_000), ridge=1e-4, prior=prior) == pytest.approx(TRUE, abs=0.1)


def test_weights_count_as_repetitions() -> None:
    numbers, relevant = examples(300)
    counts = np.random.default_rng(1).integers(1, 4, 300)
    repeated = fit_logistic(np.repeat(numbers, counts, 0), np.repeat(relevant, counts), ridge=1e-9)
    weighted = fit_logistic(numbers, relevant, counts.astype(float), ridge=1e-9)
    assert weighted == pytest.approx(repeated, abs=1e-4)


def test_separable_examples_and_equal_numbers_give_finite_weights() -> None:
    numbers = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]])
    found = fit_logistic(numbers, np.array([0.0, 0.0, 1.0, 1.0]))
    assert np.isfinite(found).all()


def test_true_probabilities_have_a_small_error_and_shifted_ones_have_theirs() -> None:
    rng = np.random.default_rng(2)
    chance = rng.random(50_000) * 0.8
    relevant = (rng.random(50_000) < chance).astype(float)
    assert calibration_error(chance, relevant) < 0.01
    assert calibration_error(chance + 0.2, relevant) == pytest.approx(0.2, abs=0.01)


def test_auc_is_the_share_of_pairs() -> None:
    rng = np.random.default_rng(4)
    scores, relevant = rng.integers(0, 9, 60).astype(float), rng.integers(0, 2, 60).astype(float)
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a in scores[relevant == 1].tolist() for b in scores[relevant == 0].tolist()
    ]  # fmt: skip
    assert auc(scores, relevant) == pytest.approx(sum(pairs) / len(pairs))
