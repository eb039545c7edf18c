"""Measure what a pipeline costs on this machine, in a fresh process: time, bytes and memory."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.processes import in_fresh_process
from ranklet.export.learning.joining import needed_files
from ranklet.export.learning.options import LearnOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.pipeline import Pipeline, PipelineLike

TIMED, WARM = 100, 5  # queries, and those before them that are not counted

# VmHWM is the largest resident memory so far, in KiB; only Linux says it.
MEASURE = """
import json, sys
from pathlib import Path
from time import perf_counter
import numpy as np
from ranklet import runtime
path, pipeline, texts, warm = json.load(sys.stdin)
bundle, took = runtime.load(path), []
for text in texts[:warm] + texts:
    begin = perf_counter()
    bundle.rank(text, k=10, pipeline=pipeline)
    took.append(1e3 * (perf_counter() - begin))
status = Path("/proc/self/status")
words = status.read_text().split() if status.is_file() else ["VmHWM:", "0"]
memory = 1024 * int(words[words.index("VmHWM:") + 1]) / 1e6
print(json.dumps([*np.percentile(took[warm:], [50, 95]), memory]))
"""


class Cost(NamedTuple):
    """What a pipeline costs.

    Attributes:
        p50: milliseconds of a query with ten hits, the median.
        p95: the 95th percentile.
        memory: the largest resident memory of its process, in 10⁶ bytes; 0 if it is not known.
        mb: size of the files that it needs, in 10⁶ bytes.
    """

    p50: float
    p95: float
    memory: float
    mb: float

    def within(self, options: LearnOptions) -> bool:
        """Return whether a search may cost so much."""
        return (options.max_ms is None or self.p95 <= options.max_ms) and (
            options.max_mb is None or self.mb <= options.max_mb
        )

    def __str__(self) -> str:
        return f"{self.p95:.1f} ms at the 95th percentile and {self.mb:.0f} MB"


def cost_of(bundle: BundleFiles, queries: Sequence[JudgedQuery], pipeline: PipelineLike) -> Cost:
    """Return what a pipeline of a bundle on disk costs for some queries, one at a time.

    Raises:
        RankletError: the fresh process ended with an error.
    """
    recipe = bundle.manifest.pipeline(pipeline)
    texts = [query.text for query in queries[:TIMED]]
    given = json.dumps([str(bundle.path), recipe.to_json(), texts, WARM])
    p50, p95, memory = in_fresh_process(MEASURE, given=given)
    return Cost(p50, p95, memory, size_of(bundle, recipe))


def size_of(bundle: BundleFiles, pipeline: Pipeline) -> float:
    """Return the size of the files that a pipeline needs, in 10⁶ bytes."""
    files = bundle.manifest.files
    return sum(files[name].bytes for name in needed_files(bundle, pipeline.rankers)) / 1e6
