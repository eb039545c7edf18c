"""Weigh rankers and metadata in a sum, by queries that none of the rankers has learned from.

All values are cross-validated: the weights by which a query is ranked were learned on others that
share no relevant document with it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.default_pipelines import RERANKED, stages
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.measures import parse_measure, per_query
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.cross_validation import group_queries, weigh_features
from ranklet.corpus.tuning.judged_candidates import read_judged_lists
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.execution.execution import name_feature
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve
from ranklet.runtime.pipelines.signals import Signal

DEPTH = 200  # of each list
DEEPER = 5  # times as many documents as the lists have, because signals bring up what was lower
LAST = "last"  # the name of a sum in which a ranker of pairs is

Values = NDArray[np.float64]  # of a measure, (queries,)


class Pool(NamedTuple):
    """What rankers say of the documents that some of them have retrieved for a query.

    Attributes:
        ids: of the documents.
        scores: by ranker, times the ranker's scale, (documents,) float32.
    """

    ids: list[str]
    scores: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Material:
    """Judged queries with their pools: those to choose on, then others that teach, then the rest.

    Attributes:
        queries: judged ones.
        pools: of the queries; perhaps of those to choose on alone.
        chosen: how many are there to choose on; None for all.
        taught: how many teach weights, besides, of rankers that have not learned from them.
        static: the names of the rankers that learned nothing from any; all queries teach and
            measure their weights.
        trained: the names of those that have learned from the ones that teach.
    """

    queries: Sequence[JudgedQuery]
    pools: Sequence[Pool]
    chosen: int | None = None
    taught: int = 0
    static: Collection[str] = ()
    trained: Collection[str] = ()

    def rows(self, names: Collection[str]) -> tuple[int, int]:
        """Return how many queries, the first ones, teach some rankers' weights, and measure."""
        whole = len(self.pools)
        if self.chosen is None or set(names) <= set(self.static):
            return whole, whole
        trained = not set(names).isdisjoint(self.trained)
        return min(whole, self.chosen + (0 if trained else self.taught)), self.chosen

    @cached_property
    def grouped(self) -> NDArray[np.intp]:
        """The group of each query, (queries,); see `group_queries`."""
        return group_queries(self.queries)


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


def read_pools(bundle: Bundle, queries: Sequence[JudgedQuery], names: Sequence[str]) -> list[Pool]:
    """Return the documents that some ranker retrieves for each query, scored by all rankers."""
    lists = stages(names, bundle.manifest.rankers, DEPTH)
    # The scores of the fusion are not used. It lets several lists become one.
    pipeline = Pipeline((*lists, Fuse("rrf", tuple(names), (1.0,) * len(names))))
    return [
        Pool(*bundle.features(query.text, pipeline=pipeline))
        for query in progress(queries, "scoring candidates by all rankers")
    ]


def weigh(bundle: Bundle, material: Material, members: Sequence[str], measure: str) -> Step:
    """Return a pipeline that adds up rankers by learned weights; one whose weight is 0 is left out.

    Args:
        bundle: with all rankers.
        material: what teaches the weights, and measures them.
        members: names of the rankers.
        measure: the goal.
    """
    rankers, names = bundle.manifest.rankers, tuple(members)
    count, measured = material.rows(names)
    lists = _retrieving(bundle, names)
    ids, columns = [], []
    for pool in material.pools[:count]:
        own = np.logical_or.reduce(
            [
                in_list(pool.scores[name], DEPTH, KINDS[rankers[name].kind].index == "impacts")
                for name in lists
            ]
        )
        ids.append([pool.ids[place] for place in np.flatnonzero(own).tolist()])
        columns.append(np.column_stack([pool.scores[name][own] for name in names]))
    judged = read_judged_lists(material.queries[:count], ids, columns)
    weights, values = weigh_features(
        judged, measure, grouped=material.grouped[:count], measured=measured
    )
    used = [(name, weight) for name, weight in zip(names, weights, strict=True) if weight > 0]
    left = [name for name, _ in used]
    # A ranker that scores all documents must not retrieve where another one did.
    if (
        any(KINDS[rankers[name].kind].retrieves for name in left)
        and _retrieving(bundle, left) <= lists
    ):
        names, weights = tuple(left), tuple(weight for _, weight in used)
    fuse = (Fuse("linear", names, weights),) if len(names) > 1 else ()
    return Step(names, weights, values, Pipeline((*stages(names, rankers, DEPTH), *fuse)))


def _retrieving(bundle: Bundle, names: Sequence[str]) -> set[str]:
    """Return which of some rankers retrieve where all of them are added up."""
    found = stages(names, bundle.manifest.rankers, DEPTH)
    return {each.ranker for each in found if isinstance(each, Retrieve)}


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
    before, stages_ = _score(step), (*step.pipeline.stages, Keep(depth), Rescore(name))
    weights, values, base = _weigh_after(
        bundle, queries, Pipeline(stages_), [before, name], measure, f"reading documents by {name}"
    )
    pipeline = Pipeline((*stages_, Fuse("linear", (before, name), weights, LAST)))
    whole = (*(round(weights[0] * each, 6) for each in step.weights), weights[1])
    return Step((*step.members, name), whole, values, pipeline), base


def learn_boost(
    bundle: Bundle, queries: Sequence[JudgedQuery], step: Step, signals: Sequence[Signal],
    measure: str,
) -> tuple[Step, Values]:  # fmt: skip
    """Return a pipeline to whose scores metadata add by learned weights, and what was before.

    The weight of a signal that says nothing is 0, and no weight is below 0.

    Args:
        bundle: with all rankers.
        queries: to choose on.
        step: the pipeline that it follows.
        signals: whose weights are learned.
        measure: the goal.
    """
    names = [name_feature(each.field) for each in signals]
    none = [replace(each, weight=0.0) for each in signals]
    (first, *others), values, base = _weigh_after(
        bundle, queries, step.pipeline.deeper(DEEPER).boosted(none), [_score(step), *names],
        measure, "reading metadata of candidates",
    )  # fmt: skip
    weights = [round(each / first, 6) if first > 0 else 0.0 for each in others]
    found = [replace(each, weight=w) for each, w in zip(signals, weights, strict=True) if w > 0]
    members = (*step.members, *(name_feature(each.field) for each in found))
    whole = (*step.weights, *(each.weight for each in found))
    return Step(members, whole, values, step.pipeline.boosted(found)), base


def at_the_clock(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline whose ages count from the clock, not from when judgements were made."""
    own = () if pipeline.boost is None else pipeline.boost.signals
    return pipeline.boosted([replace(each, now=None) for each in own])


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


def _score(step: Step) -> str:
    """Return the name of the score that a pipeline ends with."""
    last = step.pipeline.stages[-1]
    return last.name if isinstance(last, Fuse) else step.members[-1]


def _weigh_after(
    bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: Pipeline, columns: Sequence[str],
    measure: str, label: str,
) -> tuple[tuple[float, ...], Values, Values]:  # fmt: skip
    """Return the weights of columns of scores, what they reach, and what the first one does."""
    ids, features = [], []
    for query in progress(queries, label):
        own, scores = bundle.features(query.text, pipeline=pipeline)
        ids.append(own)
        features.append(np.column_stack([scores[each] for each in columns]))
    judged = read_judged_lists(queries, ids, features)
    base = per_query(judged, judged.features[:, :, 0], parse_measure(measure))
    weights, values = weigh_features(judged, measure, grouped=group_queries(queries))
    return weights, values, base
