"""Fit how likely hits answer their queries, and measure how true that is.

Sources: Platt 1999 (a logistic model of scores); Guo et al. 2017, "On calibration of modern neural
networks", §2 (the expected calibration error).
"""

import numpy as np
from numpy.typing import NDArray

BINS = 10  # of the calibration error, at most, with equally many probabilities each
IN_BIN = 30  # probabilities, at least; fewer are far from the truth by chance
_STEPS, _TINY = 50, 1e-8  # of Newton's method, which needs some eight; the last one

Numbers = NDArray[np.float64]


def fit_logistic(
    numbers: Numbers,
    relevant: Numbers,
    weights: Numbers | None = None,
    *,
    ridge: float = 0.01,
    prior: tuple[float, ...] | None = None,
    offset: Numbers | None = None,
) -> tuple[float, ...]:
    """Return the constant and the weights of the logistic model that fits best, by Newton's method.

    Args:
        numbers: (examples, features).
        relevant: 1 or 0 each, (examples,).
        weights: what each example counts, (examples,); None for 1 each.
        ridge: of the square of each feature's weight, in its standard deviations, beside the mean
            loss of an example.
        prior: the constant and the weights that the penalty draws to; None for 0, where the
            constant is free.
        offset: what is added to each example's logit, (examples,); None for nothing.

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> constant, weight = fit_logistic(x, np.array([0.0, 1.0, 0.0, 1.0]))
    >>> weight > 0 > constant
    True
    """
    count, width = numbers.shape
    share = np.full(count, 1 / count) if weights is None else weights / weights.sum()
    spread = numbers.std(axis=0)
    spread[spread < 1e-9] = 1.0
    inputs = np.column_stack([np.ones(count), numbers / spread])
    target = np.zeros(width + 1) if prior is None else np.array(prior) * np.append(1.0, spread)
    added = np.zeros(count) if offset is None else offset
    penalty = np.full(width + 1, ridge)
    if prior is None:
        penalty[0] = 1e-6

    def loss(of: Numbers) -> float:
        margins = (inputs @ of + added) * (1 - 2 * relevant)
        return float(share @ np.logaddexp(0, margins) + penalty @ (of - target) ** 2 / 2)

    found = target.copy()
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ found + added, -30, 30)))
        slope = inputs.T @ (share * (chance - relevant)) + penalty * (found - target)
        bend = (inputs * (share * chance * (1 - chance))[:, None]).T @ inputs + np.diag(penalty)
        step, before = np.linalg.solve(bend, slope), loss(found)
        while loss(found - step) > before and np.abs(step).max() > _TINY:
            step = step / 2
        found = found - step
        if np.abs(step).max() < _TINY:
            break
    return (float(found[0]), *(found[1:] / spread).tolist())


def calibration_error(
    probabilities: Numbers, relevant: Numbers, weights: Numbers | None = None
) -> float:
    """Return the mean distance of probabilities from the truth, in bins (Guo et al., eq. 3).

    >>> calibration_error(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0]))
    0.25

    Args:
        probabilities: (examples,).
        relevant: 1 or 0 each, (examples,).
        weights: what each example counts, (examples,); None for 1 each.
    """
    counts = np.ones(len(relevant)) if weights is None else weights
    count = min(BINS, max(1, len(relevant) // IN_BIN))
    bins = np.array_split(np.argsort(probabilities, kind="stable"), count)
    gaps = [abs(counts[each] @ (probabilities[each] - relevant[each])) for each in bins]
    return float(sum(gaps) / counts.sum())


def auc(scores: Numbers, relevant: Numbers) -> float:
    """Return the share of pairs, one relevant and one not, whose scores tell them apart.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.875

    Args:
        scores: (examples,).
        relevant: 1 or 0 each, both of which must be there, (examples,).
    """
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # ties share their mean rank
    positive = relevant == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))
