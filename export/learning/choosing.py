"""Choose which rankers a pipeline adds up, and their weights, on queries that none learned from.

Rankers are added one after the other, each time the one that gains most, as long as it gains more
than one standard error. All values are cross-validated: the weights by which a query is ranked were
learned on other queries.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.default_pipelines import RERANKED, stages
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.measures import Judged
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent
from ranklet.corpus.tuning.cross_validation import held_out
from ranklet.corpus.tuning.judged_candidates import judged_lists
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve

DEPTH = 200  # of each list
RESTARTS = 2
NAME = "learned"  # of the pipeline
LAST = "last"  # the name of a sum in which a ranker of pairs is

Values = NDArray[np.float64]  # of a measure, (queries,)
Fits = Callable[[float], bool]  # whether there is time for a piece of work of some seconds


class Pool(NamedTuple):
    """What rankers say of the documents that some of them have retrieved for a query.

    Attributes:
        ids: of the documents.
        scores: by ranker, times the ranker's scale, (documents,) float32.
    """

    ids: list[str]
    scores: Mapping[str, NDArray[np.float32]]


class More(NamedTuple):
    """Further queries, from which some rankers have learned, so that they weigh only the others.

    Attributes:
        queries: judged ones, other than those that choose.
        pools: of these.
        trained: the names of the rankers that have learned from them.
    """

    queries: Sequence[JudgedQuery] = ()
    pools: Sequence[Pool] = ()
    trained: Collection[str] = ()


NO_MORE = More()


class Step(NamedTuple):
    """A pipeline on the way to the chosen one.

    Attributes:
        members: names of its rankers.
        weights: of the members, learned on all queries that they may learn from.
        values: cross-validated, (queries,).
        pipeline: that is served.
    """

    members: tuple[str, ...]
    weights: tuple[float, ...]
    values: Values
    pipeline: Pipeline


def pools_of(bundle: Bundle, queries: Sequence[JudgedQuery], names: Sequence[str]) -> list[Pool]:
    """Return the documents that some ranker retrieves for each query, scored by all rankers."""
    lists = stages(names, bundle.manifest.rankers, DEPTH)
    # The scores of the fusion are not used. It lets several lists become one.
    pipeline = Pipeline((*lists, Fuse("rrf", tuple(names), (1.0,) * len(names))))
    return [
        Pool(*bundle.features(query.text, pipeline=pipeline))
        for query in progress(queries, "scoring candidates by all rankers")
    ]


def path(
    bundle: Bundle,
    queries: Sequence[JudgedQuery],
    pools: Sequence[Pool],
    first: Sequence[str],
    others: Sequence[str],
    one_of: Sequence[str],
    measure: str,
    more: More = NO_MORE,
    fits: Fits = lambda _: True,
) -> tuple[list[Step], list[str]]:
    """Return pipelines of more and more rankers, each better than the one before.

    A ranker is tried only while there is time for twice as long as the longest trial before took.
    Those that were not are returned, too.

    Args:
        bundle: with all rankers.
        queries: to choose on.
        pools: of these.
        first: the rankers that every pipeline has.
        others: that may be added.
        one_of: rankers of which at most one may be added, because a network reads the query.
        measure: the goal.
        more: queries that weights are learned on, too, where no ranker has learned from them.
        fits: whether there is time.
    """
    began, longest = monotonic(), 0.0
    steps = [weigh(bundle, queries, pools, tuple(first), measure, more)]
    while True:
        last = steps[-1]
        left = [name for name in others if name not in last.members]
        if set(one_of) & set(last.members):
            left = [name for name in left if name not in one_of]
        tried, untried = [], list[str]()
        for name in left:
            longest, began = max(longest, monotonic() - began), monotonic()
            if not fits(2 * longest):
                untried.append(name)
                continue
            tried.append(weigh(bundle, queries, pools, (*last.members, name), measure, more))
        best = max(tried, key=lambda each: float(each.values.mean()), default=None)
        if best is None or not surely_better(best.values, last.values):
            return steps, untried
        steps.append(best)


def rerank_last(
    bundle: Bundle,
    queries: Sequence[JudgedQuery],
    step: Step,
    name: str,
    measure: str,
    depth: int = RERANKED,
) -> tuple[Step, Values]:
    """Return a pipeline whose best documents a ranker of pairs reads last, and what was before.

    Its scores are added to those that the documents had. Both values are of the same queries.

    Args:
        bundle: with all rankers.
        queries: to choose on, perhaps fewer than those of the step.
        step: the pipeline that it follows.
        name: of the ranker.
        measure: the goal.
        depth: how many documents it reads.
    """
    fuse = step.pipeline.stages[-1]
    before = fuse.name if isinstance(fuse, Fuse) else step.members[-1]
    stages = (*step.pipeline.stages, Keep(depth), Rescore(name))
    ids, columns = [], []
    for query in progress(queries, f"reading documents by {name}"):
        own, scores = bundle.features(query.text, pipeline=Pipeline(stages))
        ids.append(own)
        columns.append(np.column_stack([scores[before], scores[name]]))
    base = held_out(judged_lists(queries, ids, [each[:, :1] for each in columns]), measure)
    weights, values = learned_weights(judged_lists(queries, ids, columns), measure)
    pipeline = Pipeline((*stages, Fuse("linear", (before, name), weights, LAST)))
    whole = (*(round(weights[0] * each, 6) for each in step.weights), weights[1])
    return Step((*step.members, name), whole, values, pipeline), base


def surely_better(values: Values, base: Values) -> bool:
    """Return whether the mean of paired differences is above one standard error.

    >>> surely_better(np.array([0.5, 0.6, 0.7]), np.array([0.4, 0.5, 0.6]))
    True
    >>> surely_better(np.array([0.5, 0.1]), np.array([0.1, 0.4]))
    False
    """
    differences = values - base
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
    return bool(differences.mean() > max(0.0, error))


def cheapest(steps: Sequence[Step]) -> int:
    """Return the place of the first step that is within one standard error of the best.

    Breiman et al. 1984, "Classification and Regression Trees", §3.4.3, have this rule.
    """
    best = max(range(len(steps)), key=lambda place: float(steps[place].values.mean()))
    return next(
        place
        for place, each in enumerate(steps)
        if place == best or not surely_better(steps[best].values, each.values)
    )


def weigh(
    bundle: Bundle,
    queries: Sequence[JudgedQuery],
    pools: Sequence[Pool],
    members: tuple[str, ...],
    measure: str,
    more: More = NO_MORE,
) -> Step:
    """Return a pipeline that adds up rankers by learned weights; see `path`."""
    if not set(members).isdisjoint(more.trained):
        more = NO_MORE
    kinds = {name: entry.kind for name, entry in bundle.manifest.rankers.items()}
    recipe = stages(members, bundle.manifest.rankers, DEPTH)
    lists = [stage.ranker for stage in recipe if isinstance(stage, Retrieve)]
    ids, columns = [], []
    for pool in (*pools, *more.pools):
        own = np.logical_or.reduce(
            [
                in_list(pool.scores[name], DEPTH, KINDS[kinds[name]].index == "impacts")
                for name in lists
            ]
        )
        ids.append([pool.ids[place] for place in np.flatnonzero(own).tolist()])
        columns.append(np.column_stack([pool.scores[name][own] for name in members]))
    judged = judged_lists([*queries, *more.queries], ids, columns)
    weights, values = learned_weights(judged, measure, len(queries))
    fuse = (Fuse("linear", members, weights),) if len(members) > 1 else ()
    return Step(members, weights, values, Pipeline((*recipe, *fuse)))


def learned_weights(
    judged: Judged, measure: str, measured: int | None = None
) -> tuple[tuple[float, ...], Values]:
    """Return the weights of features that are learned on all queries, and cross-validated values.

    Weights are as a bundle stores them. A single feature has 1. Values are those of the first
    queries, as many as are measured.
    """
    values = held_out(judged, measure, measured=measured, restarts=RESTARTS)
    if judged.features.shape[2] == 1:
        return (1.0,), values
    weights = coordinate_ascent(judged, measure, restarts=RESTARTS).weights
    return tuple(round(each, 6) for each in weights), values


def in_list(scores: NDArray[np.float32], depth: int, matching: bool = False) -> NDArray[np.bool_]:
    """Return which documents a retriever has among its first, (documents,) bool.

    Args:
        scores: its scores, (documents,).
        depth: the length of its list.
        matching: whether only documents with a score above 0 are in it.

    >>> in_list(np.array([1, 3, 0, 2], np.float32), 2).tolist()
    [False, True, False, True]
    >>> in_list(np.array([1, 3, 0, 2], np.float32), 9, matching=True).tolist()
    [True, True, False, True]
    """
    found = np.zeros(len(scores), np.bool_)
    found[top_k(scores, depth)] = True
    return found & (scores > 0) if matching else found
