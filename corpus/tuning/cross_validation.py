"""Measure learned weights on queries that they were not learned on, by cross-validation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged, parse_measure, per_query
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent
from ranklet.runtime.errors import InputError

FOLDS = 5
# Values of α, of which the first of equally good ones wins. The author's code tries 0.1 to 0.9 by
# tenths.
GRID = tuple(step / 20 for step in range(21))


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The result of `interpolate`.

    Attributes:
        alpha: the weight of the first feature that is best on all queries; the second has 1 − α.
        values: the measure of each query with the α of the other folds, (queries,). Report these.
        alphas: the α of each fold that is best on the other folds.
    """

    alpha: float
    values: NDArray[np.float64]
    alphas: tuple[float, ...]

    @property
    def value(self) -> float:
        """The mean of `values`."""
        return float(self.values.mean())


def held_out(judged: Judged, measure: str, *, restarts: int = 2) -> NDArray[np.float64]:
    """Return the measure of each query by weights that were learned on the other folds, (queries,).

    With fewer queries than folds, each query is a fold. A single query has the value 0.

    Args:
        judged: candidates with their features.
        measure: MRR@k, nDCG@k or R@k.
        restarts: the number of restarts of `coordinate_ascent`.
    """
    queries, goal = len(judged.mask), parse_measure(measure)
    values = np.zeros(queries)
    if queries < 2:
        return values
    fold_of = np.random.default_rng(0).permutation(queries) % min(FOLDS, queries)
    single = judged.features.shape[2] == 1  # nothing to learn
    for fold in np.unique(fold_of).tolist():
        inside, rest = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        weights: tuple[float, ...] = (1.0,)
        if not single:
            weights = coordinate_ascent(judged.rows(rest), measure, restarts=restarts).weights
        own = judged.rows(inside)
        values[inside] = per_query(own, own.scores(np.array(weights)), goal)
    return values


def interpolate(judged: Judged, measure: str = "MRR@10", *, folds: int) -> Interpolation:
    """Find α in α · first + (1 − α) · second (Boualili, eq. 7.4).

    Args:
        judged: candidates with two features.
        measure: MRR@k, nDCG@k or R@k.
        folds: number of folds of the queries; see `check_folds`.
    """
    queries, goal = len(judged.mask), parse_measure(measure)
    values = np.stack(
        [per_query(judged, judged.scores(np.array([a, 1 - a])), goal) for a in GRID]
    )  # (grid, queries)
    fold_of = np.random.default_rng(0).permutation(queries) % folds
    held_out = np.empty(queries)
    alphas = []
    for fold in range(folds):
        inside = fold_of == fold
        best = int(values[:, ~inside].mean(1).argmax())
        held_out[inside] = values[best, inside]
        alphas.append(GRID[best])
    return Interpolation(GRID[int(values.mean(1).argmax())], held_out, tuple(alphas))


def check_folds(folds: int, rankers: int, queries: int) -> None:
    """Raise InputError unless there are two rankers and from 2 to `queries` folds."""
    if rankers != 2:
        raise InputError(f"α interpolates two rankers, but there are {rankers}")
    if not 2 <= folds <= queries:
        raise InputError(f"folds is {folds}; it must be from 2 to {queries}, the number of queries")
