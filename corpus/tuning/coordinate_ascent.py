"""Learn the weights of a linear fusion by coordinate ascent (Metzler & Croft 2007).

A ranking measure has no useful gradient, because it changes only where two documents swap ranks.
Coordinate ascent needs none. It changes one weight at a time, tries ever longer steps in both
directions and keeps the best. It passes over the weights until a pass gains too little. Scaling all
weights does not change a ranking, so their absolute values always sum to 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged, Measure, mean, parse_measure

STEPS = 20  # number of step lengths per direction in a line search
FIRST_STEP = 0.05  # relative to the weight; each following step is twice as long
SMALLEST_STEP = 1e-3  # the first step of a weight that is 0
TOLERANCE = 1e-4  # a climb ends with the first pass that gains less
PASSES = 50  # maximum number of passes; three to five are usual


@dataclass(frozen=True)
class FusionWeights:
    """The result of `coordinate_ascent`.

    Attributes:
        weights: one weight per feature; their absolute values sum to 1.
        value: the measure with these weights, on the same data.
    """

    weights: tuple[float, ...]
    value: float


def coordinate_ascent(
    judged: Judged, measure: str = "MRR@10", *, restarts: int = 5
) -> FusionWeights:
    """Return the weights with which the weighted sum of the features ranks best.

    The first climb starts from equal weights, the second from the best single feature, the others
    from random weights. On the same data, the result is never worse than equal weights or any
    single feature. Equal inputs give equal results.

    Args:
        judged: candidates, features and judgements. Features of similar size ease the search.
        measure: "MRR@k", "nDCG@k" or "R@k".
        restarts: number of climbs, at least 1.

    Raises:
        InputError: the measure is unknown.
    """
    goal, size = parse_measure(measure), judged.features.shape[2]

    def parse_value(weights: NDArray[np.float64]) -> float:
        return mean(judged, judged.scores(weights), goal)

    rng = np.random.default_rng(0)
    plain = [np.full(size, 1 / size), *np.eye(size)]  # equal weights, then each feature alone
    plain_values = [parse_value(weights) for weights in plain]
    best_single = 1 + int(np.argmax(plain_values[1:]))
    starts = [
        plain[0],
        plain[best_single],
        *rng.dirichlet(np.ones(size), size=max(0, restarts - 2)),
    ]

    results = list(zip(plain_values, plain, strict=True))
    for start in starts[:restarts]:
        weights = _climb(judged, goal, start, rng)
        results.append((parse_value(weights), weights))
    value, weights = max(results, key=lambda pair: pair[0])  # prefers the plain weights if equal
    return FusionWeights(tuple(weights.tolist()), value)


def line(weight: float) -> NDArray[np.float64]:
    """Return the values to try for one weight, by ever longer steps down and up, and 0.

    None is below 0.

    Each step is twice as long as the one before, so a few steps reach any scale. The next pass
    begins with small steps again, which refine the result. The values, (values,) float64, are
    ascending and unique, without `weight` itself.
    """
    first = max(FIRST_STEP * abs(weight), SMALLEST_STEP if weight == 0 else 0.0)
    reach = first * (2.0 ** np.arange(1, STEPS + 1) - 1)  # (steps,) cumulative sums of the steps
    values = np.concatenate([weight - reach, [0.0], weight + reach])
    return np.unique(values[(values >= 0) & (values != weight)])


def normalise(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide weights by the sum of their absolute values, which must not be 0."""
    scaled: NDArray[np.float64] = weights / np.abs(weights).sum()
    return scaled


def _climb(
    judged: Judged, measure: Measure, start: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Pass over the weights until a pass gains too little, and return them."""
    weights = normalise(start)
    best = mean(judged, judged.scores(weights), measure)
    for _ in range(PASSES):
        before = best
        for feature in rng.permutation(len(weights)):
            weights, best = _search_line(judged, measure, weights, int(feature), best)
        if best - before < TOLERANCE:
            break
    return weights


def _search_line(
    judged: Judged, measure: Measure, weights: NDArray[np.float64], feature: int, best: float
) -> tuple[NDArray[np.float64], float]:
    """Change one weight to the best value on its line, or change nothing if none is better."""
    rest = weights.copy()
    rest[feature] = 0
    if not rest.any():  # if all others are 0, the size of a weight changes no ranking
        return weights, best
    base = judged.scores(rest)  # (queries, candidates) float32
    column = np.ascontiguousarray(judged.features[:, :, feature])
    chosen = weights
    for value in line(float(weights[feature])):
        reached = mean(judged, base + np.float32(value) * column, measure)
        if reached > best:
            best = reached
            chosen = rest.copy()
            chosen[feature] = value
    return normalise(chosen), best
