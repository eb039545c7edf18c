"""Learn the weights of a sum, and measure them by cross-validation on other queries."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery, groups
from ranklet.corpus.evaluation.measures import Judged, parse_measure, per_query
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent

FOLDS = 5
RESTARTS = 2
# Of two weights, the second by the first, where both features spread equally. Two weights are one
# number, so all of these are tried.
RATIOS = 2.0 ** np.arange(-10, 10.5, 0.5)

Weights = tuple[float, ...]


class Weighed(NamedTuple):
    """The weights of some features.

    Attributes:
        weights: learned on all queries, as a bundle stores them; a single feature has 1.
        values: of each measured query by weights that other folds have taught, (measured,).
    """

    weights: Weights
    values: NDArray[np.float64]


def weigh_features(
    judged: Judged,
    measure: str,
    *,
    grouped: NDArray[np.integer] | None = None,
    measured: int | None = None,
) -> Weighed:
    """Return the weights of features with which a measure is highest, and what they reach.

    Args:
        judged: candidates with their features.
        measure: MRR@k, nDCG@k or R@k.
        grouped: the group of each query, (queries,). Queries of a group are in one fold. None means
            that each query is a group, and so do fewer groups than folds.
        measured: how many queries, the first ones, are cut into folds; None for all. The others
            only teach.
    """
    goal, total = parse_measure(measure), len(judged.mask)
    count = total if measured is None else measured
    if judged.features.shape[2] == 1:
        return Weighed((1.0,), per_query(judged, judged.features[:, :, 0], goal)[:count])
    own = np.arange(total) if grouped is None else grouped
    if len(np.unique(own[:count])) < FOLDS:
        own = np.arange(total)
    learn = _learner(judged, measure)
    values, fold_of = np.zeros(count), folds(own[:count])
    for fold in np.unique(fold_of).tolist() if count > 1 else []:
        inside = np.flatnonzero(fold_of == fold)
        weights = learn(np.flatnonzero(~np.isin(own, own[inside])))
        held = judged.rows(inside)
        values[inside] = per_query(held, held.scores(np.array(weights)), goal)
    return Weighed(tuple(round(each, 6) for each in learn(np.arange(total))), values)


def folds(grouped: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the fold of each query, (queries,); groups stay whole and folds are about equal.

    >>> np.bincount(folds(np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8]))).tolist()
    [2, 2, 2, 2, 2]
    """
    names, own, sizes = np.unique(grouped, return_inverse=True, return_counts=True)
    order = np.random.default_rng(0).permutation(len(names))
    fold, filled = np.zeros(len(names), np.intp), np.zeros(min(FOLDS, len(names)))
    for each in order[np.argsort(-sizes[order], kind="stable")].tolist():
        fold[each] = filled.argmin()
        filled[fold[each]] += sizes[each]
    return fold[own]


def group_queries(queries: Sequence[JudgedQuery]) -> NDArray[np.intp]:
    """Return the group of each query, (queries,); queries that share an answer are in one group.

    >>> queries = [JudgedQuery("1", "", {"a": 1}), JudgedQuery("2", "", {"b": 1, "a": 1})]
    >>> group_queries([*queries, JudgedQuery("3", "", {"c": 1})]).tolist()
    [0, 0, 1]
    """
    first = groups({f"{at:09}": each.relevant for at, each in enumerate(queries)})
    return np.unique(list(first.values()), return_inverse=True)[1]


def _learner(judged: Judged, measure: str) -> Callable[[NDArray[np.integer]], Weights]:
    """Return a function that learns weights on some queries, given by their numbers."""
    if judged.features.shape[2] != 2:
        return lambda rows: coordinate_ascent(judged.rows(rows), measure, restarts=RESTARTS).weights
    shares = np.concatenate([[0.0], RATIOS / (1 + RATIOS), [1.0]])
    spread = judged.features[judged.mask].std(axis=0, dtype=np.float64)
    tried = np.column_stack([1 - shares, shares]) / np.where(spread > 0, spread, 1.0)
    tried /= tried.sum(axis=1, keepdims=True)
    goal = parse_measure(measure)
    values = np.stack([per_query(judged, judged.scores(each), goal) for each in tried])
    return lambda rows: tuple(tried[values[:, rows].mean(axis=1).argmax()].tolist())
