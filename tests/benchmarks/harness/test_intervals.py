"""Intervals of factors."""

import numpy as np
import pytest
from benchmarks.harness.intervals import ratio
from numpy.typing import NDArray


def two() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of a system that is somewhat better than another, and of the other."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.6, 200)
    return base + 0.1 + rng.normal(0, 0.05, 200), base


def test_the_interval_of_a_factor_holds_the_factor() -> None:
    first, second = two()
    factor = ratio(first, second)
    assert factor.low < factor.value < factor.high
    assert factor.value == pytest.approx(first.mean() / second.mean())
    assert factor == ratio(first, second)  # nothing is drawn anew
