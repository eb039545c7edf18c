"""Test whether two systems differ significantly, by paired t-tests with Holm's correction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, lgamma, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError

CONSTANT = 1e-12  # if differences vary less than this, relative to their size, it is rounding


@dataclass(frozen=True)
class Comparison:
    """The comparison of two systems over the same queries.

    Attributes:
        first: name of one system.
        second: name of the other system.
        difference: mean of first − second, in the measure's unit.
        queries: number of queries.
        p: two-sided p-value of the paired t-test.
        p_holm: the p-value corrected for all comparisons made together.
    """

    first: str
    second: str
    difference: float
    queries: int
    p: float
    p_holm: float


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return a difference with its interval.

        >>> str(Interval(0.05, -0.012, 0.112))
        '+0.050 (-0.012 to +0.112)'
        """
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def interval(first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
    """Return the mean of first − second with the 95 % interval of the paired t-test.

    Args:
        first: a value of each query, (queries,).
        second: the values of the second system for the same queries.
    """
    differences = first - second
    count, mean = len(differences), float(differences.mean())
    if count < 2:
        return Interval(mean, -np.inf, np.inf)
    margin = float(t_quantile(0.05, count - 1) * differences.std(ddof=1) / np.sqrt(count))
    return Interval(mean, mean - margin, mean + margin)


def compare(
    values: Mapping[str, NDArray[np.floating] | Sequence[float]],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> tuple[Comparison, ...]:
    """Test pairs of systems and correct for the number of pairs.

    Args:
        values: each system's value on each query, (queries,), in the same order of queries.
        pairs: the systems to compare; None for every pair, in the order of `values`.

    Returns:
        One comparison per pair, in the order of the pairs.

    Raises:
        InputError: a pair has an unknown system, lengths differ, there are fewer than two queries,
            or a value is not finite.
    """
    arrays = {name: np.asarray(series, np.float64) for name, series in values.items()}
    lengths = {array.shape for array in arrays.values()}
    if len(lengths) > 1 or any(len(shape) != 1 or shape[0] < 2 for shape in lengths):
        raise InputError(
            "every system needs one value per query, over the same two or more queries; got shapes "
            f"{ {name: array.shape for name, array in arrays.items()} }"
        )
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise InputError("every per-query value must be a finite number; some are not")
    chosen = list(combinations(arrays, 2)) if pairs is None else list(pairs)
    unknown = sorted({name for pair in chosen for name in pair} - arrays.keys())
    if unknown:
        raise InputError(f"unknown systems {unknown}; known are {sorted(arrays)}")

    p_values = [paired_t_test(arrays[first], arrays[second]) for first, second in chosen]
    return tuple(
        Comparison(
            first, second, float((arrays[first] - arrays[second]).mean()), len(arrays[first]), p, q
        )
        for (first, second), p, q in zip(chosen, p_values, holm(p_values), strict=True)
    )


def paired_t_test(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of the hypothesis that the mean of first − second is 0.

    Both are (queries,) float64. The p-value is 1 if all values agree, where the t statistic is
    undefined, and 0 if all differ by the same amount, where it is infinite.
    """
    differences = first - second
    if not differences.any():
        return 1.0
    if np.ptp(differences) <= CONSTANT * np.abs(differences).max():
        return 0.0
    count = len(differences)
    t = float(differences.mean() / (differences.std(ddof=1) / np.sqrt(count)))
    return t_probability(t, count - 1)


def t_probability(t: float, freedom: int) -> float:
    """Return how likely Student's t is at least as far from 0 as `t`.

    This is I_x(ν/2, 1/2) with x = ν / (ν + t²), the regularised incomplete beta function
    (Abramowitz and Stegun 26.7.1), by its continued fraction (Numerical Recipes, 6.4).

    Args:
        t: any number.
        freedom: the degrees of freedom ν, ≥ 1.
    """
    a, b = freedom / 2, 0.5
    x, rest = freedom / (freedom + t * t), t * t / (freedom + t * t)
    if rest == 0:
        return 1.0
    scale = lgamma(a + b) - lgamma(a) - lgamma(b) - a * log1p(t * t / freedom) + b * log(rest)
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other tail converges faster
        return 1 - exp(scale) * _beta_fraction(b, a, rest) / b
    return exp(scale) * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def t_quantile(probability: float, freedom: int) -> float:
    """Return the t ≥ 0 that Student's t exceeds, in absolute value, with a probability."""
    low, high = 0.0, 1.0
    while t_probability(high, freedom) > probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (
            (middle, high) if t_probability(middle, freedom) > probability else (low, middle)
        )
    return high


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Correct p-values (Holm 1979) by multiplying the i-th smallest of m, from 1, by m − i + 1.

    A corrected value is at least the corrected value of every smaller p-value, and at most 1.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return tuple(corrected.tolist())
