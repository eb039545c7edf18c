"""Intervals of factors between two systems on the same queries."""

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.significance import Interval

SAMPLES = 10_000  # of the bootstrap


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
