"""Choose the pipeline that is kept.

Rankers are added one after the other, each time the one that gains most, as long as it gains more
than one standard error. Rankers that learned nothing from the judged queries are chosen and
measured on all of these, and the others on those that none of them learned from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from ranklet.corpus.building.default_pipelines import RERANKED, rerankers
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.overlap import trained_rankers
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.execution.execution import name_feature
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Keep, Pipeline, Rescore
from ranklet.runtime.pipelines.signals import Signal, read_signals
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.search.boosting import check_boost
from ranklet.workflows.learn.candidates import BM25, LEAST_PAIRS
from ranklet.workflows.learn.limits import Cost, measure_cost
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.parts import Parts, some
from ranklet.workflows.learn.weighing import (
    Material,
    Step,
    Values,
    learn_boost,
    read_pools,
    rerank_last,
    weigh,
)

DEFAULT = "the input, as it is"
NO_GAIN = "it gained no more than one standard error on the queries to choose on"
NO_TIME = "there was no time to weigh it"

Fits = Callable[[float], bool]  # whether there is time for a piece of work of some seconds


@dataclass(frozen=True, eq=False)
class Selected:
    """The pipelines that may be kept, all within the limits.

    Attributes:
        steps: the best one of rankers that learned nothing, whose values are of everyone, then
            those on the way to the best of all.
        costs: of the steps, where there are limits to measure them by.
        tried: places of those that are proven, the better one first, until one surely gains.
        everyone: all queries, those to choose on first.
        skipped: what does not take part, with the reason.
    """

    steps: Sequence[Step]
    costs: Sequence[Cost | None]
    tried: Sequence[int]
    everyone: Sequence[JudgedQuery]
    skipped: dict[str, str]


class _Selection:
    """Selects pipelines of a bundle; see `select`."""

    def __init__(
        self, bundle: Bundle, parts: Parts, options: LearnOptions, signals: Sequence[Signal],
        fits: Fits,
    ) -> None:  # fmt: skip
        self._bundle, self._parts, self._options = bundle, parts, options
        self._signals, self._fits = signals, fits
        self.networks = [name for name in bundle.manifest.rankers if is_network(bundle, name)]
        self.skipped: dict[str, str] = {}

    def walk(
        self, material: Material, names: Sequence[str], last: Sequence[str]
    ) -> list[tuple[Step, Cost | None]]:
        """Return pipelines of more and more rankers, within the limits."""
        bundle, measure = self._bundle, self._options.measure
        rankers = bundle.manifest.rankers
        firsts = [name for name in names if rankers[name].kind == BM25]
        firsts = firsts or [name for name in names if KINDS[rankers[name].kind].retrieves][:1]
        others = [name for name in names if name not in firsts]
        found = [
            path(bundle, material, [first], others, self.networks, measure, self._fits)
            for first in firsts
        ]
        best = cheapest([steps[-1].values[: material.chosen] for steps, _ in found])
        steps, untried = found[best]
        costs = [self._cost(step) for step in steps]

        def add(step: Step, base: Values) -> None:
            if surely_better(step.values, base):
                steps.append(step)
                costs.append(self._cost(step))

        for name in last:
            depth = self._depth(steps[-1], name, costs[-1])
            if not self._fits(0.0):
                self.skipped[name] = NO_TIME
            elif depth < LEAST_PAIRS:
                why = f"it would read fewer than {LEAST_PAIRS} documents within --max-ms"
                self.skipped[name] = why
            else:
                add(*rerank_last(bundle, self._parts.choose, steps[-1], name, measure, depth))
        if self._signals:
            queries = material.queries[: len(steps[-1].values)]
            add(*learn_boost(bundle, queries, steps[-1], self._signals, measure))
        for name in (*names, *last, *(name_feature(each.field) for each in self._signals)):
            if name not in steps[-1].members:
                self.skipped.setdefault(name, NO_TIME if name in untried else NO_GAIN)
        return [
            (step, cost)
            for step, cost in zip(steps, costs, strict=True)
            if self._within(step, cost)
        ]

    def _within(self, step: Step, cost: Cost | None) -> bool:
        if cost is None or cost.within(self._options):
            return True
        self.skipped[" + ".join(step.members)] = f"it takes {cost}"
        return False

    def _cost(self, step: Step) -> Cost | None:
        """Return what a pipeline costs, or None where nothing limits it."""
        if self._options.max_ms is None and self._options.max_mb is None:
            return None
        return measure_cost(self._bundle.files, self._parts.choose, step.pipeline)

    def _depth(self, step: Step, name: str, cost: Cost | None) -> int:
        """Return how many documents a ranker of pairs has time to read after a step."""
        slowest = self._options.max_ms
        if slowest is None or cost is None:
            return RERANKED
        few = Pipeline((*step.pipeline.stages, Keep(LEAST_PAIRS), Rescore(name)))
        pair = measure_cost(self._bundle.files, self._parts.choose, few).p95 - cost.p95
        return min(RERANKED, int(0.9 * (slowest - cost.p95) / max(pair / LEAST_PAIRS, 1e-3)))


def select(
    before: Bundle, after: Bundle, parts: Parts, options: LearnOptions, more: int = 0,
    fits: Fits = lambda _: True,
) -> Selected:  # fmt: skip
    """Return the pipelines of a bundle among which the kept one is.

    Args:
        before: the input, or what has tables in place of its networks.
        after: a bundle with all rankers.
        parts: the queries.
        options: the limits, and the measure.
        more: queries, at most, that teach weights besides those to choose and to report on.
        fits: whether there is time for a piece of work.
    """
    signals, rankers = find_signals(before, options), after.manifest.rankers
    selection = _Selection(after, parts, options, signals, fits)
    names = [name for name in rankers if options.network or name not in selection.networks]
    why = "a network would read each query (--no-network), and no table replaces it"
    refused = {name: why for name in rankers if name not in names}
    last = [name for name in rerankers(rankers) if name in names]
    names = [name for name in names if name not in last]
    trained = set(trained_rankers(after.manifest))
    untrained = [name for name in names if name not in trained]
    own = [(each.kind, each.settings) for each in before.manifest.rankers.values()]
    static = [name for name in untrained if (rankers[name].kind, rankers[name].settings) in own]
    taught, choose = some([*parts.learn, *parts.tune], more), parts.choose
    everyone = [*choose, *taught, *parts.report]
    pools = read_pools(after, choose, names)
    if any(rankers[name].kind != BM25 for name in untrained) or (untrained and signals):
        pools += read_pools(after, everyone[len(choose) :], untrained)
    material = Material(everyone, pools, len(choose), len(taught), static, trained)
    found = list[tuple[Step, Cost | None]]()
    if len(pools) > len(choose) and (len(static) > 1 or signals):
        found = selection.walk(material, static, [])
        found = [found[cheapest([step.values for step, _ in found])]] if found else []
    proven = len(found)
    if set(names) - set(static) or last:
        selection.skipped.clear()  # all are tried again, with the others
        found += selection.walk(material, names, last)
    tried = list[int]()
    if found:
        values = [step.values[: len(choose)] for step, _ in found]
        tried = [cheapest(values)]
        if 0 < proven < len(found):
            tried.append(0 if tried[0] else 1 + cheapest(values[1:]))
    steps, costs = [step for step, _ in found], [cost for _, cost in found]
    return Selected(steps, costs, tried, everyone, {**refused, **selection.skipped})


def path(
    bundle: Bundle,
    material: Material,
    first: Sequence[str],
    others: Sequence[str],
    one_of: Sequence[str],
    measure: str,
    fits: Fits = lambda _: True,
) -> tuple[list[Step], list[str]]:
    """Return pipelines of more and more rankers, each better than the one before.

    A ranker is tried only while there is time for twice as long as the longest trial before took.
    Those that were not are returned, too.

    Args:
        bundle: with all rankers.
        material: queries to choose on, and what teaches weights.
        first: the rankers to begin with.
        others: that may be added.
        one_of: rankers of which at most one may be added, because a network reads the query.
        measure: the goal.
        fits: whether there is time.
    """
    began, longest = monotonic(), 0.0
    steps, members = [weigh(bundle, material, first, measure)], tuple(first)
    while True:
        left = [name for name in others if name not in members]
        if set(one_of) & set(members):
            left = [name for name in left if name not in one_of]
        tried, untried = dict[str, Step](), list[str]()
        for name in left:
            longest, began = max(longest, monotonic() - began), monotonic()
            if fits(2 * longest):
                tried[name] = weigh(bundle, material, (*members, name), measure)
            else:
                untried.append(name)
        best = max(
            tried, key=lambda name: tried[name].values[: material.chosen].mean(), default=None
        )
        if best is None or not surely_better(*_common(tried[best], steps[-1])):
            return steps, untried
        steps.append(tried[best])
        members = (*members, best)


def _common(first: Step, second: Step) -> tuple[Values, Values]:
    """Return the values of both on the queries that both are measured on."""
    count = min(len(first.values), len(second.values))
    return first.values[:count], second.values[:count]


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


def cheapest(values: Sequence[Values]) -> int:
    """Return the place of the first pipeline that is within one standard error of the best.

    Breiman et al. 1984, "Classification and Regression Trees", §3.4.3, have this rule.

    Args:
        values: of each pipeline on the same queries, the cheapest one first.
    """
    best = max(values, key=lambda each: float(each.mean()))
    return next(
        place for place, each in enumerate(values) if each is best or not surely_better(best, each)
    )


def find_base(before: Bundle, options: LearnOptions) -> tuple[str, Pipeline | None]:
    """Return what a pipeline must be better than, in words, and its stages; None for the default.

    It is the default of the input, or one of its rankers if a network would read queries.
    """
    default = before.manifest.pipeline(None)
    if options.network or not any(is_network(before, name) for name in default.rankers):
        return DEFAULT, None
    for name, pipeline in before.manifest.pipelines.items():
        if not any(is_network(before, each) for each in pipeline.rankers):
            return f"{name} of the input, without its network", pipeline
    return DEFAULT, None


def find_signals(bundle: Bundle, options: LearnOptions) -> tuple[Signal, ...]:
    """Return the metadata whose weights are learned: those that are given, or the bundle's own.

    Raises:
        InputError: the bundle has no such field, or of another type.
    """
    if options.boost is None:
        own = bundle.manifest.pipeline(None).boost
        return () if own is None else own.signals
    signals = read_signals(options.boost, weight=0.0)
    check_boost(signals, bundle.metadata, bundle.manifest.remarks)
    return signals


def is_network(bundle: Bundle, name: str) -> bool:
    """Return whether a ranker of a bundle runs a network over each query."""
    return open_ranker(bundle.files, name).provider not in ("", "numpy")  # a table's is numpy
