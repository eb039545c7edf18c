"""Measure what a pipeline costs on this machine: milliseconds per query, and bytes."""

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ranklet.export.learning.joining import needed_files
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.pipeline import PipelineLike
from ranklet.training.data.splits import JudgedQuery

TIMED, WARM = 100, 5  # queries, and those before them that are not counted


class Cost(NamedTuple):
    """What a pipeline costs.

    Attributes:
        p50: milliseconds of a query with ten hits, the median.
        p95: the 95th percentile.
        mb: size of the files that it needs, in 10⁶ bytes.
    """

    p50: float
    p95: float
    mb: float


def cost_of(bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: PipelineLike) -> Cost:
    """Return what a pipeline of a bundle costs for some queries, one at a time."""
    texts = [query.text for query in queries[:TIMED]]
    for text in texts[:WARM]:
        bundle.rank(text, k=10, pipeline=pipeline)
    took = []
    for text in texts:
        begin = perf_counter()
        bundle.rank(text, k=10, pipeline=pipeline)
        took.append(1e3 * (perf_counter() - begin))
    used = bundle.manifest.pipeline(pipeline).rankers()
    sizes = bundle.manifest.files
    size = sum(sizes[name].bytes for name in needed_files(bundle.files, used)) / 1e6
    p50, p95 = np.percentile(took, [50, 95]).tolist()
    return Cost(p50, p95, size)
