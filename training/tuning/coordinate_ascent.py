"""Weights of a linear fusion by coordinate ascent (Metzler & Croft 2007).

A ranking measure has no gradient: it is flat between the weights where two documents change
places, and jumps there. Coordinate ascent needs none: it changes one weight at a time, tries ever
longer steps both ways, keeps the best, and passes over the weights until a pass gains nothing.
Rankings do not change when all weights are scaled, so the weights always sum to 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.evaluation.measures import Judged, Measure, mean, parse_measure

STEPS = 20  # lengths tried each way in a line search
FIRST_STEP = 0.05  # of the weight's own size; each next step is twice as long
SMALLEST_STEP = 1e-3  # the first step of a weight that is 0, where "its own size" says nothing
PASSES = 50  # at most; three to five are usual


@dataclass(frozen=True)
class FusionWeights:
    """What `coordinate_ascent` found.

    Attributes:
        weights: One for each feature; their absolute values sum to 1.
        value: The measure with these weights, on the data given.
        history: For each restart the measure at its start and after each pass.
    """

    weights: tuple[float, ...]
    value: float
    history: tuple[tuple[float, ...], ...]


def coordinate_ascent(
    judged: Judged,
    measure: str = "MRR@10",
    *,
    restarts: int = 5,
    seed: int = 0,
    tolerance: float = 1e-4,
    non_negative: bool = True,
) -> FusionWeights:
    """Find weights under which the weighted sum of the features ranks best.

    The first climb starts from equal weights, the second from the best single feature, the others
    from random ones. The result is never worse, on the data given, than equal weights or any
    single feature.

    Args:
        judged: Candidates, features and judgments. Features of like size make the search easier.
        measure: "MRR@k", "nDCG@k" or "R@k".
        restarts: Number of climbs, at least 1.
        seed: Of the random starts and of the order of the weights within a pass.
        tolerance: A climb ends with the first pass that gains less.
        non_negative: Whether weights below 0 are left out.

    Returns:
        The best weights, their value and the course of each climb; the same for the same input.

    Raises:
        InputError: If the measure is unknown, restarts below 1 or tolerance below 0, or if there
            is no feature.
    """
    goal = parse_measure(measure)
    if restarts < 1:
        raise InputError(f"restarts must be at least 1; got {restarts}")
    if tolerance < 0:
        raise InputError(f"tolerance must not be negative; got {tolerance}")
    size = judged.features.shape[2]
    if size == 0:
        raise InputError("fusion needs at least one feature; there is none")

    def value_of(weights: NDArray[np.float64]) -> float:
        return mean(judged, judged.scores(weights), goal)

    rng = np.random.default_rng(seed)
    plain = [np.full(size, 1 / size), *np.eye(size)]  # equal weights, then each feature alone
    plain_values = [value_of(weights) for weights in plain]
    best_single = 1 + int(np.argmax(plain_values[1:]))
    starts = [
        plain[0],
        plain[best_single],
        *rng.dirichlet(np.ones(size), size=max(0, restarts - 2)),
    ]

    found = list(zip(plain_values, plain, strict=True))
    history = []
    for start in starts[:restarts]:
        weights, course = _climb(judged, goal, start, rng, tolerance, non_negative)
        found.append((value_of(weights), weights))
        history.append(course)
    value, weights = max(found, key=lambda pair: pair[0])  # the first of equals: the plainest
    return FusionWeights(tuple(weights.tolist()), value, tuple(history))


def line(weight: float, non_negative: bool) -> NDArray[np.float64]:
    """Values to try for one weight: ever longer steps down and up, and 0.

    The steps grow by a factor of 2, so a few reach any scale; they start small again in the next
    pass, which then refines.

    Args:
        weight: The present value.
        non_negative: Whether values below 0 are left out.

    Returns:
        (values,) float64, ascending, without doubles and without `weight` itself.
    """
    first = max(FIRST_STEP * abs(weight), SMALLEST_STEP if weight == 0 else 0.0)
    reach = first * (2.0 ** np.arange(1, STEPS + 1) - 1)  # (steps,) the sums of the steps so far
    values = np.concatenate([weight - reach, [0.0], weight + reach])
    if non_negative:
        values = values[values >= 0]
    return np.unique(values[values != weight])


def normalise(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights over the sum of their absolute values; one at least must not be 0."""
    scaled: NDArray[np.float64] = weights / np.abs(weights).sum()
    return scaled


def _climb(
    judged: Judged,
    measure: Measure,
    start: NDArray[np.float64],
    rng: np.random.Generator,
    tolerance: float,
    non_negative: bool,
) -> tuple[NDArray[np.float64], tuple[float, ...]]:
    """Pass over the weights until a pass gains too little; returns weights and values."""
    weights = normalise(start)
    values = [mean(judged, judged.scores(weights), measure)]
    for _ in range(PASSES):
        best = values[-1]
        for feature in rng.permutation(len(weights)):
            weights, best = _search_line(judged, measure, weights, int(feature), best, non_negative)
        values.append(best)
        if best - values[-2] < tolerance or best == values[-2]:
            break
    return weights, tuple(values)


def _search_line(
    judged: Judged,
    measure: Measure,
    weights: NDArray[np.float64],
    feature: int,
    best: float,
    non_negative: bool,
) -> tuple[NDArray[np.float64], float]:
    """Change one weight to the best value on its line, or leave all as they are."""
    rest = weights.copy()
    rest[feature] = 0
    if not rest.any():  # alone, a weight's size changes no ranking
        return weights, best
    base = judged.scores(rest)  # (queries, candidates) float32
    column = np.ascontiguousarray(judged.features[:, :, feature])
    chosen = weights
    for value in line(float(weights[feature]), non_negative):
        reached = mean(judged, base + np.float32(value) * column, measure)
        if reached > best:
            best = reached
            chosen = rest.copy()
            chosen[feature] = value
    return normalise(chosen), best
