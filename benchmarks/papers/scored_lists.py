"""MRR@10 of lists, and tables that compare systems."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.report import table
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.significance import holm, interval, paired_t_test

Values = Mapping[str, NDArray[np.float64]]


def reciprocal_ranks(
    ids: Any, lists: Sequence[NDArray[Any]], queries: Sequence[JudgedQuery]
) -> NDArray[np.float64]:
    """Return the reciprocal rank of each query's list within its first ten, (queries,)."""

    def of(numbers: NDArray[Any], query: JudgedQuery) -> float:
        hits = [ids[int(number)] in query.relevant for number in numbers[:10]]
        return 1 / (1 + hits.index(True)) if any(hits) else 0.0

    return np.array([of(*each) for each in zip(lists, queries, strict=True)])


def compared(values: Values, pairs: Sequence[tuple[str, str]], measure: str = "MRR@10") -> str:
    """Return a table of pairs of systems, by paired t-tests with Holm's correction."""
    corrected = holm([paired_t_test(values[one], values[two]) for one, two in pairs])
    rows = [
        [one, two, f"{len(values[one]):,}", f"{values[one].mean():.4f}",
         f"{values[two].mean():.4f}", str(interval(values[one], values[two])),
         f"{values[one].mean() / values[two].mean() - 1:+.1%}", f"{p:.2g}"]
        for (one, two), p in zip(pairs, corrected, strict=True)
    ]  # fmt: skip
    head = ["ranker", "next to", "queries", f"its {measure}", "the other's", "difference",
            "relative", "p"]  # fmt: skip
    return table(head, rows)
