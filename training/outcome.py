"""Say what a training achieved: the measure before and after, next to BM25's on the same lists."""

from collections.abc import Mapping, Sized
from math import isfinite
from typing import Any, NamedTuple

from ranklet.corpus.evaluation.significance import Interval
from ranklet.corpus.progress import duration

# With fewer steps the learning rate hardly leaves its warm-up, so the training counts as too short.
FEWEST_STEPS = 20
PERFECT = 1.0  # the highest value of every measure
SHARED = "shared_queries"  # in a report: tuning queries that share a document with learned ones


class Lists(NamedTuple):
    """What a training is measured on.

    Attributes:
        measure: the measure and the lists, in words.
        queries: number of queries.
        bm25: the value of BM25 on the same lists.
    """

    measure: str
    queries: int
    bm25: float


def counts(documents: int, queries: Sized, dev: Sized) -> dict[str, int]:
    """Return the sizes of the data for a checkpoint's report."""
    return {"documents": documents, "queries": len(queries), "tuning_queries": len(dev)}


def describe_comparison(
    lists: Lists,
    before: float | None,
    after: float,
    *,
    baseline: str = "BM25",
    gain: Interval | None = None,
) -> dict[str, Any]:
    """Return the ``comparison`` of a checkpoint's report, plain values by name.

    Args:
        lists: the lists, with BM25's value.
        before: the value of the start; None for a kind that begins with nothing but BM25.
        after: the value of what was saved.
        baseline: name of the BM25.
        gain: the paired difference of after and before over the queries, if it is known.
    """
    own = {} if gain is None or not isfinite(gain.low) else {"gain": list(gain)}
    return {**lists._asdict(), "before": before, "after": after, "baseline": baseline, **own}


def make_rows(comparison: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return name and value of BM25, before training and after training, as far as they exist."""
    rows = [
        (comparison["baseline"], comparison["bm25"]),
        ("before training", comparison["before"]),
        ("after training", comparison["after"]),
    ]
    return [(name, value) for name, value in rows if value is not None]


def table(comparison: Mapping[str, Any]) -> str:
    """Return the comparison as lines of text.

    >>> print(table(describe_comparison(Lists("MRR@10", 7, 0.5), 0.25, 0.75)))
    MRR@10, 7 queries
      BM25             0.5000
      before training  0.2500
      after training   0.7500
    """
    rows = make_rows(comparison)
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name:{width}}  {value:.4f}" for name, value in rows]
    count = comparison["queries"]
    unit = "query" if count == 1 else "queries"
    if "gain" in comparison:
        lines.append(f"  {'gain':{width}}  {Interval(*comparison['gain'])}, 95 %")
    return "\n".join([f"{comparison['measure']}, {count:,} {unit}", *lines])


def summary(training: Mapping[str, Any]) -> str:
    """Return what a checkpoint's report says about its training, as lines of text.

    >>> lists = Lists("MRR@10", 1, 0.5)
    >>> report = {"steps": 300, "seconds": 61.2, "evaluation_seconds": 9, "stopped_by": "time"}
    >>> print(summary({"comparison": describe_comparison(lists, 0.25, 0.75), **report}))
    300 steps in 1:01, ended by time; evaluations took 0:09
    MRR@10, 1 query
      BM25             0.5000
      before training  0.2500
      after training   0.7500
    """
    if "comparison" not in training:
        return "nothing was measured, because the kind learns nothing"
    lines = [table(training["comparison"])]
    if "steps" in training:
        steps, spent = training["steps"], duration(training["seconds"])
        evaluating = duration(training["evaluation_seconds"])
        ended = f"ended by {training['stopped_by']}; evaluations took {evaluating}"
        lines.insert(0, f"{steps:,} step{'s' * (steps != 1)} in {spent}, {ended}")
    return "\n".join(lines)


def shortcoming(
    before: float, after: float, steps: int | None = None, gain: Interval | None = None
) -> str:
    """Return why a training should not be relied on and what to do; "" if it may be.

    Args:
        before: the measure at the start, or BM25's for a kind that begins with nothing but BM25.
        after: the measure of what was saved.
        steps: steps of a network's training; None for kinds without steps.
        gain: the paired difference over the queries, if it is known.
    """
    if steps is not None and steps < FEWEST_STEPS:
        return (
            f"the training made {steps} step{'s' * (steps != 1)}, and a network learns little in "
            f"fewer than {FEWEST_STEPS}; give it more --steps, --epochs or --minutes"
        )
    if after > before and gain is not None and gain.low <= 0:
        return (
            f"the gain on the tuning queries is not sure, because its interval includes 0: {gain}; "
            "learn from more judged queries, train longer, or tune on more queries (--tune)"
        )
    if after > before:
        return ""
    if before == PERFECT:
        return (
            "the tuning queries were ranked perfectly before the training, so no gain could be "
            "seen; tune on more queries, or on harder ones (--tune)"
        )
    if steps is None:
        return (
            "the training found nothing that ranks the tuning queries better than BM25 alone; "
            "learn from more judged queries (--split)"
        )
    return (
        "the training did not improve on its start, so the weights of the start were saved; train "
        "longer (--steps, --epochs or --minutes), at another rate (--lr) or on more judged queries"
    )
