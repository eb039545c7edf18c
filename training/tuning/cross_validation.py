"""Choose α of a reranker and the first stage by cross-validation (Boualili, eq. 7.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query

GRID = tuple(step / 20 for step in range(21))  # the author's code tries 0.1 to 0.9 by tenths


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


def interpolate(
    judged: Judged,
    measure: str = "MRR@10",
    *,
    folds: int = 5,
    seed: int = 0,
    grid: Sequence[float] = GRID,
) -> Interpolation:
    """Find α in α · first + (1 − α) · second.

    Args:
        judged: candidates with two features.
        measure: MRR@k, nDCG@k or R@k.
        folds: number of folds of the queries.
        seed: random seed of the assignment to folds.
        grid: values of α; the first of equally good values wins.

    Raises:
        InputError: there are not two features, fewer than two folds, or fewer queries than folds.
    """
    queries = len(judged.mask)
    check_folds(folds, judged.features.shape[2], queries)
    goal = parse_measure(measure)
    values = np.stack(
        [per_query(judged, judged.scores(np.array([a, 1 - a])), goal) for a in grid]
    )  # (grid, queries)
    fold_of = np.random.default_rng(seed).permutation(queries) % folds
    held_out = np.empty(queries)
    alphas = []
    for fold in range(folds):
        inside = fold_of == fold
        best = int(values[:, ~inside].mean(1).argmax())
        held_out[inside] = values[best, inside]
        alphas.append(grid[best])
    return Interpolation(grid[int(values.mean(1).argmax())], held_out, tuple(alphas))


def check_folds(folds: int, rankers: int, queries: int) -> None:
    """Raise InputError unless there are two rankers and from 2 to `queries` folds."""
    if rankers != 2:
        raise InputError(f"α interpolates two rankers, but there are {rankers}")
    if not 2 <= folds <= queries:
        raise InputError(f"folds is {folds}; it must be from 2 to {queries}, the number of queries")
