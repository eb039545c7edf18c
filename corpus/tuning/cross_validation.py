"""Measure learned weights on queries that they were not learned on, by cross-validation."""

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged, parse_measure, per_query
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent

FOLDS = 5


def held_out(
    judged: Judged, measure: str, *, measured: int | None = None, restarts: int = 2
) -> NDArray[np.float64]:
    """Return the measure of each query by weights that were learned on the other folds.

    With fewer queries than folds, each query is a fold. A single query has the value 0.

    Args:
        judged: candidates with their features.
        measure: MRR@k, nDCG@k or R@k.
        measured: how many queries, the first ones, are cut into folds; None for all. The weights of
            every fold are also learned on the others.
        restarts: the number of restarts of `coordinate_ascent`.

    Returns:
        The values of the measured queries, (measured,).
    """
    goal = parse_measure(measure)
    queries = len(judged.mask) if measured is None else measured
    more = np.arange(queries, len(judged.mask))
    values = np.zeros(queries)
    if queries < 2:
        return values
    fold_of = np.random.default_rng(0).permutation(queries) % min(FOLDS, queries)
    single = judged.features.shape[2] == 1  # nothing to learn
    for fold in np.unique(fold_of).tolist():
        inside = np.flatnonzero(fold_of == fold)
        rest = np.concatenate([np.flatnonzero(fold_of != fold), more])
        weights: tuple[float, ...] = (1.0,)
        if not single:
            weights = coordinate_ascent(judged.rows(rest), measure, restarts=restarts).weights
        own = judged.rows(inside)
        values[inside] = per_query(own, own.scores(np.array(weights)), goal)
    return values
