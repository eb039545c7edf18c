"""Select the pipeline of all rankers that is kept, on queries that none of them learned from."""

from collections.abc import Sequence
from dataclasses import dataclass

from ranklet.corpus.building.default_pipelines import RERANKED, rerankers
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.overlap import trained_rankers
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.export.learning.candidates import BM25, LEAST_PAIRS
from ranklet.export.learning.choosing import (
    Fits,
    More,
    Step,
    cheapest,
    path,
    pools_of,
    rerank_last,
    surely_better,
)
from ranklet.export.learning.costs import Cost, cost_of
from ranklet.export.learning.options import LearnOptions
from ranklet.export.learning.parts import Parts, some
from ranklet.export.learning.signals import learn_boost
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.execution.execution import feature_of
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipeline import Keep, Pipeline, Rescore
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.search.boosting import check_boost
from ranklet.runtime.signals import Signal, read_signals

DEFAULT = "the input, as it is"
WEIGHING = 1_000  # further queries, at most, on which rankers that learned nothing are weighed


@dataclass(frozen=True, eq=False)
class Selected:
    """The pipelines on the way to the one that is kept.

    Attributes:
        steps: each with one ranker more than the one before.
        costs: of the steps, where there are limits to measure them by.
        at: the place of the step that is kept; None keeps the input.
        skipped: the rankers that do not take part, with the reason.
    """

    steps: Sequence[Step]
    costs: Sequence[Cost | None]
    at: int | None
    skipped: dict[str, str]


def select(
    before: Bundle, after: Bundle, parts: Parts, options: LearnOptions, more: int = WEIGHING,
    fits: Fits = lambda _: True,
) -> Selected:  # fmt: skip
    """Return the cheapest pipeline of a bundle that is about as good as its best.

    Args:
        before: what it must be better than.
        after: a bundle with all rankers.
        parts: the queries.
        options: the limits, and the measure.
        more: queries, at most, on which rankers that learned nothing are weighed, too.
        fits: whether there is time for a piece of work.
    """
    queries, measure, rankers = parts.choose, options.measure, after.manifest.rankers
    names, skipped = list(rankers), dict[str, str]()
    networks = [name for name in names if _is_network(after, name)]
    if not options.network:
        why = "a network would read each query (--no-network), and no table replaces it"
        skipped = dict.fromkeys(networks, why)
        names = [name for name in names if name not in networks]
    last = [name for name in rerankers(rankers) if name in names]
    names = [name for name in names if name not in last]
    first = next(
        (name for name in names if rankers[name].kind == BM25),
        next(name for name in names if KINDS[rankers[name].kind].retrieves),
    )
    others = [name for name in names if name != first]
    pools, further = pools_of(after, queries, names), _more(after, parts, names, more)
    steps, untried = path(after, queries, pools, [first], others, networks, measure, further, fits)
    costs = [_cost(after, queries, each.pipeline, options) for each in steps]
    for name in last:
        depth = _depth(after, queries, options, steps[-1], name, costs[-1])
        if not fits(0.0):
            skipped[name] = "there was no time to weigh it"
            continue
        if depth < LEAST_PAIRS:
            skipped[name] = f"it would read fewer than {LEAST_PAIRS} documents within --max-ms"
            continue
        step, base = rerank_last(after, queries, steps[-1], name, measure, depth)
        if surely_better(step.values, base):
            steps.append(step)
            costs.append(_cost(after, queries, step.pipeline, options))
    signals = signals_of(before, options)
    if signals:
        step, base = learn_boost(after, queries, steps[-1], signals, measure)
        if surely_better(step.values, base):
            steps.append(step)
            costs.append(_cost(after, queries, step.pipeline, options))
    names += [feature_of(each.field) for each in signals]
    for name in (*names, *last):
        if name not in steps[-1].members:
            why = "it gained no more than one standard error on the queries to choose on"
            skipped.setdefault(name, "there was no time to weigh it" if name in untried else why)
    within = [place for place, cost in enumerate(costs) if cost is None or cost.within(options)]
    for place in set(range(len(steps))) - set(within):
        skipped[" + ".join(steps[place].members)] = f"it takes {costs[place]}"
    if not within:
        return Selected(steps, costs, None, skipped)
    at = within[cheapest([steps[place] for place in within])]
    name, pipeline = base_of(before, options)
    (base_,) = evaluate(before, queries, {name: pipeline}, measures=[measure], depth=100)
    better = surely_better(steps[at].values, base_.values[measure])
    return Selected(steps, costs, at if better else None, skipped)


def base_of(before: Bundle, options: LearnOptions) -> tuple[str, Pipeline | None]:
    """Return what a pipeline must be better than, in words, and its stages; None for the default.

    It is the default of the input, or one of its rankers if a network would read queries.
    """
    default = before.manifest.pipeline(None)
    if options.network or not any(_is_network(before, name) for name in default.rankers):
        return DEFAULT, None
    for name, pipeline in before.manifest.pipelines.items():
        if not any(_is_network(before, each) for each in pipeline.rankers):
            return f"{name} of the input, without its network", pipeline
    return DEFAULT, None


def signals_of(bundle: Bundle, options: LearnOptions) -> tuple[Signal, ...]:
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


def _is_network(bundle: Bundle, name: str) -> bool:
    return ranker_of(bundle.files, name).provider not in ("", "numpy")  # a table's is numpy


def _cost(
    bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: Pipeline, options: LearnOptions
) -> Cost | None:
    """Return what a pipeline costs, or None where nothing limits it."""
    free = options.max_ms is None and options.max_mb is None
    return None if free else cost_of(bundle.files, queries, pipeline)


def _more(bundle: Bundle, parts: Parts, names: Sequence[str], most: int) -> More:
    """Return the queries that are neither chosen on nor reported on."""
    queries = some([*parts.learn, *parts.tune], most)
    unable = set(trained_rankers(bundle.manifest))
    own = [name for name in names if name not in unable]
    retrieves = [name for name in own if KINDS[bundle.manifest.rankers[name].kind].retrieves]
    if len(own) < 2 or not retrieves:
        return More()
    return More(queries, pools_of(bundle, queries, own), unable)


def _depth(
    bundle: Bundle, queries: Sequence[JudgedQuery], options: LearnOptions, step: Step, name: str,
    cost: Cost | None,
) -> int:  # fmt: skip
    """Return how many documents a ranker of pairs has time to read after a step."""
    if options.max_ms is None or cost is None:
        return RERANKED
    few = Pipeline((*step.pipeline.stages, Keep(LEAST_PAIRS), Rescore(name)))
    pair = (cost_of(bundle.files, queries, few).p95 - cost.p95) / LEAST_PAIRS
    return min(RERANKED, int(0.9 * (options.max_ms - cost.p95) / max(pair, 1e-3)))
