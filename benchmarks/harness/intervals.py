"""Intervals of differences and of factors between two systems on the same queries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SAMPLES = 10_000  # of the bootstrap


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """Return the mean difference of two systems with the interval of the paired t-test.

    Args:
        first: a value of each query, (queries,).
        second: of the same queries.
    """
    from scipy.stats import t

    differences = first - second
    count, mean = len(differences), float(differences.mean())
    if count < 2:
        return Interval(mean, -np.inf, np.inf)
    margin = float(t.ppf(0.975, count - 1) * differences.std(ddof=1) / np.sqrt(count))
    return Interval(mean, mean - margin, mean + margin)


def ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """Return mean first / mean second, with the 95 % interval of a paired bootstrap.

    Args:
        first: a value of each query, (queries,).
        second: of the same queries, with a mean above 0.

    >>> ratio(np.array([1.0, 0.5]), np.array([0.5, 0.25]))
    Interval(value=2.0, low=2.0, high=2.0)
    """
    drawn = np.random.default_rng(0).integers(len(first), size=(SAMPLES, len(first)))
    below = second[drawn].mean(1)
    shares = first[drawn].mean(1)[below > 0] / below[below > 0]
    low, high = np.percentile(shares, [2.5, 97.5]).tolist()
    return Interval(float(first.mean() / second.mean()), low, high)


def shown(interval: Interval) -> str:
    """Return a difference and its interval.

    >>> shown(Interval(0.05, -0.012, 0.112))
    '+0.050 (-0.012 to +0.112)'
    """
    return f"{interval.value:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"
