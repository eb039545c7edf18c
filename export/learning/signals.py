"""Learn how much metadata should add to scores, such as how recent a document is."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.cross_validation import held_out
from ranklet.corpus.tuning.judged_candidates import judged_lists
from ranklet.export.learning.choosing import Step, Values, learned_weights
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.execution.execution import feature_of
from ranklet.runtime.pipeline import Fuse, Pipeline
from ranklet.runtime.signals import Signal

DEEPER = 5  # times as many documents as the lists have, because signals bring up what was lower


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
    last = step.pipeline.stages[-1]
    name = last.name if isinstance(last, Fuse) else step.members[-1]
    columns = [name, *(feature_of(each.field) for each in signals)]
    none = [replace(each, weight=0.0) for each in signals]
    pipeline, ids, features = step.pipeline.deeper(DEEPER).boosted(none), list[list[str]](), []
    for query in progress(queries, "reading metadata of candidates"):
        own, scores = bundle.features(query.text, pipeline=pipeline)
        ids.append(own)
        features.append(np.column_stack([scores[each] for each in columns]))
    base = held_out(judged_lists(queries, ids, [each[:, :1] for each in features]), measure)
    (first, *others), values = learned_weights(judged_lists(queries, ids, features), measure)
    weights = [round(each / first, 6) if first > 0 else 0.0 for each in others]
    found = [replace(each, weight=w) for each, w in zip(signals, weights, strict=True) if w > 0]
    members = (*step.members, *(feature_of(each.field) for each in found))
    return Step(
        members, (*step.weights, *(each.weight for each in found)), values,
        step.pipeline.boosted(found),
    ), base  # fmt: skip


def at_the_clock(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline whose ages count from the clock, not from when judgements were made."""
    own = () if pipeline.boost is None else pipeline.boost.signals
    return pipeline.boosted([replace(each, now=None) for each in own])
