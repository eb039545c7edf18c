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
from ranklet.export.learning.candidates import BM25, LEAST_PAIRS
from ranklet.export.learning.limits import Cost, measure_cost
from ranklet.export.learning.options import LearnOptions
from ranklet.export.learning.parts import Parts, some
from ranklet.export.learning.weighing import (
    Material,
    Step,
    Values,
    learn_boost,
    read_pools,
    rerank_last,
    weigh,
)
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.execution.execution import feature_of
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipeline import Keep, Pipeline, Rescore
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.search.boosting import check_boost
from ranklet.runtime.signals import Signal, read_signals

DEFAULT = "the input, as it is"
NO_GAIN = "it gained no more than one standard error on the queries to choose on"
NO_TIME = "there was no time to weigh it"

Fits = Callable[[float], bool]  # whether there is time for a piece of work of some seconds


@dataclass(frozen=True, eq=False)
class Choice:
    """A pipeline that may be kept.

    Attributes:
        bundle: that it is of.
        step: the pipeline. Its values begin with those of the queries to choose on.
        proven: whether its values are of all queries, and none of its rankers learned from them.
        cost: None where nothing limits it.
    """

    bundle: Bundle
    step: Step
    proven: bool
    cost: Cost | None


@dataclass(frozen=True, eq=False)
class Selected:
    """The pipelines that may be kept.

    Attributes:
        found: those of rankers that learned nothing, then those on the way to the best of all.
        tried: places of those that are proven, the best first, until one surely gains; at most one
            of each of the two sorts.
        everyone: the queries that those of rankers that learned nothing are measured on.
        skipped: the rankers that do not take part, with the reason.
    """

    found: Sequence[Choice]
    tried: Sequence[int]
    everyone: Sequence[JudgedQuery]
    skipped: dict[str, str]


class _Selection:
    """Selects pipelines of bundles within the limits of a learning.

    Args:
        options: the limits, and the measure.
        parts: the queries.
        signals: metadata whose weights are learned.
        fits: whether there is time for a piece of work.
    """

    def __init__(
        self, options: LearnOptions, parts: Parts, signals: Sequence[Signal], fits: Fits
    ) -> None:
        self._options, self._parts = options, parts
        self._signals, self._fits = signals, fits
        self.skipped: dict[str, str] = {}

    def usable(self, bundle: Bundle) -> list[str]:
        """Return the names of the rankers that may take part."""
        if self._options.network:
            return list(bundle.manifest.rankers)
        names = [name for name in bundle.manifest.rankers if not is_network(bundle, name)]
        why = "a network would read each query (--no-network), and no table replaces it"
        self.skipped |= {name: why for name in bundle.manifest.rankers if name not in names}
        return names

    def select(
        self, bundle: Bundle, names: Sequence[str], material: Material, *, proven: bool
    ) -> list[Choice]:
        """Return pipelines of more and more rankers, from the words on, within the limits."""
        rankers, measure = bundle.manifest.rankers, self._options.measure
        last = [name for name in rerankers(rankers) if name in names]
        names = [name for name in names if name not in last]
        networks = [name for name in names if is_network(bundle, name)]
        words = [name for name in names if rankers[name].kind == BM25]
        firsts = words or [next(name for name in names if KINDS[rankers[name].kind].retrieves)]
        others = [name for name in names if name not in firsts]
        paths, untried = [], list[str]()
        for first in firsts:
            steps, left = path(bundle, material, [first], others, networks, measure, self._fits)
            paths.append(steps)
            untried += left
        steps = paths[cheapest([each[-1].values for each in paths])]
        costs = [self._cost(bundle, each) for each in steps]
        queries = material.queries[: material.measured]
        for name in last:
            depth = self._depth(bundle, steps[-1], name, costs[-1])
            if not self._fits(0.0):
                self.skipped[name] = NO_TIME
            elif depth < LEAST_PAIRS:
                why = f"it would read fewer than {LEAST_PAIRS} documents within --max-ms"
                self.skipped[name] = why
            else:
                step, base = rerank_last(bundle, queries, steps[-1], name, measure, depth)
                self._add(bundle, step, base, steps, costs)
        if self._signals:
            step, base = learn_boost(bundle, queries, steps[-1], self._signals, measure)
            self._add(bundle, step, base, steps, costs)
        names += [*last, *(feature_of(each.field) for each in self._signals)]
        for name in names:
            if name not in steps[-1].members:
                self.skipped.setdefault(name, NO_TIME if name in untried else NO_GAIN)
        found = []
        for step, cost in zip(steps, costs, strict=True):
            if cost is None or cost.within(self._options):
                found.append(Choice(bundle, step, proven, cost))
            else:
                self.skipped[" + ".join(step.members)] = f"it takes {cost}"
        return found

    def _add(
        self, bundle: Bundle, step: Step, base: Values, steps: list[Step], costs: list[Cost | None]
    ) -> None:
        if surely_better(step.values, base):
            steps.append(step)
            costs.append(self._cost(bundle, step))

    def _cost(self, bundle: Bundle, step: Step) -> Cost | None:
        """Return what a pipeline costs, or None where nothing limits it."""
        free = self._options.max_ms is None and self._options.max_mb is None
        return None if free else measure_cost(bundle.files, self._parts.choose, step.pipeline)

    def _depth(self, bundle: Bundle, step: Step, name: str, cost: Cost | None) -> int:
        """Return how many documents a ranker of pairs has time to read after a step."""
        slowest = self._options.max_ms
        if slowest is None or cost is None:
            return RERANKED
        few = Pipeline((*step.pipeline.stages, Keep(LEAST_PAIRS), Rescore(name)))
        pair = measure_cost(bundle.files, self._parts.choose, few).p95 - cost.p95
        return min(RERANKED, int(0.9 * (slowest - cost.p95) / max(pair / LEAST_PAIRS, 1e-3)))


def select(
    own: Bundle, after: Bundle, parts: Parts, options: LearnOptions, signals: Sequence[Signal],
    more: int, fits: Fits = lambda _: True,
) -> Selected:  # fmt: skip
    """Return the pipelines of two bundles among which the kept one is.

    Args:
        own: the input, whose rankers have learned nothing from the queries, unless its provenance
            says so.
        after: a bundle with all rankers; the input itself if none was learned.
        parts: the queries.
        options: the limits, and the measure.
        signals: metadata whose weights are learned.
        more: queries, at most, that teach weights besides those to choose and to report on.
        fits: whether there is time for a piece of work.
    """
    selection = _Selection(options, parts, signals, fits)
    taught, choose = some([*parts.learn, *parts.tune], more), parts.choose
    everyone = [*choose, *parts.report, *taught]
    before, names = [], _static(own, selection.usable(own))
    if len(names) > 1 or (names and signals):
        pools = read_pools(own, everyone, names)
        before = selection.select(own, names, Material(everyone, pools), proven=True)
        before = before and [before[cheapest([each.step.values for each in before])]]
    later = list[Choice]()
    if after is not own or set(selection.usable(own)) - set(names):
        selection.skipped.clear()  # all rankers are tried again, beside the new ones
        names = selection.usable(after)
        last = rerankers(after.manifest.rankers)
        pools = read_pools(after, choose, [name for name in names if name not in last])
        static = _static(after, names)
        if taught and len(static) > 1:
            pools += read_pools(after, taught, static)
        queries = [*choose, *taught][: len(pools)]
        trained = [name for name in names if name not in static]
        material = Material(queries, pools, len(choose), trained)
        later = selection.select(after, names, material, proven=False)
    found = [*before, *later]
    count = len(choose)
    tried = list[int]()
    if found:
        tried = [cheapest([each.step.values[:count] for each in found])]
    if before and later:
        best = 1 + cheapest([each.step.values for each in later])
        tried.append(0 if tried[0] else best)
    return Selected(found, tried, everyone, selection.skipped)


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
        best = max(tried, key=lambda name: float(tried[name].values.mean()), default=None)
        if best is None or not surely_better(tried[best].values, steps[-1].values):
            return steps, untried
        steps.append(tried[best])
        members = (*members, best)


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
    return ranker_of(bundle.files, name).provider not in ("", "numpy")  # a table's is numpy


def _static(bundle: Bundle, names: Sequence[str]) -> list[str]:
    """Return which rankers learned nothing from judged queries; none if none of these retrieves."""
    rankers = bundle.manifest.rankers
    others = {*trained_rankers(bundle.manifest), *rerankers(rankers)}
    found = [name for name in names if name not in others]
    return found if any(KINDS[rankers[name].kind].retrieves for name in found) else []
