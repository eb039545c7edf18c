"""What learning may take, looked at before each piece of work, and what a pipeline costs."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.processes import in_fresh_process
from ranklet.corpus.progress import watched
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.ground.memory import count_granted_bytes, resident_bytes
from ranklet.runtime.pipelines.pipeline import PipelineLike
from ranklet.workflows.learn.bundles import list_needed_files
from ranklet.workflows.learn.options import LearnOptions

MEMORY_SHARE = 0.5  # of the machine's memory, which learning may take
LEAST_MEMORY = 2e9  # bytes, where the machine has less or does not say
TIMED, WARM = 100, 5  # queries, and those before them that are not counted
MEASURE = """
import json, sys
from time import perf_counter
import numpy as np
from ranklet import runtime
path, pipeline, texts, warm = json.load(sys.stdin)
bundle, took = runtime.load(path), []
for text in texts[:warm] + texts:
    begin = perf_counter()
    bundle.rank(text, k=10, pipeline=pipeline)
    took.append(1e3 * (perf_counter() - begin))
print(np.percentile(took[warm:], 95))
"""


class OutOfBudgetError(RankletError):
    """A piece of work took more time or memory than there was."""


class Budget:
    """What learning may take, from now on.

    Args:
        minutes: of wall time.

    Attributes:
        memory: bytes that this process may hold, besides what it held before.
        reserved: seconds that are kept for choosing and reporting.
        indexing: those that are kept for indexing what was learned, besides.
        measured: those of the reserved ones that the costs of the kept pipeline take.
    """

    def __init__(self, minutes: float) -> None:
        self._began, self._seconds = monotonic(), 60 * minutes
        self.memory = max(LEAST_MEMORY, MEMORY_SHARE * count_granted_bytes())
        self._held = resident_bytes()
        self._looked = self._began
        self.reserved = self.indexing = self.measured = 0.0

    @property
    def minutes(self) -> float:
        """Minutes that learning has taken."""
        return (monotonic() - self._began) / 60

    def left(self, reserved: float | None = None) -> float:
        """Return the seconds that are left, but for those that are kept for what comes later."""
        kept = self.reserved + self.indexing if reserved is None else reserved
        return self._seconds - kept - (monotonic() - self._began)

    def fits(self, seconds: float, reserved: float | None = None) -> bool:
        """Return whether there is time for a piece of work; see `left`."""
        return self.left(reserved) > seconds

    def reserve(self, seconds: float) -> None:
        """Keep seconds for choosing and reporting, at most half of all."""
        self.reserved = min(seconds, self._seconds / 2)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """End the work inside by `OutOfBudgetError` where it would take too much.

        A piece of work is not begun if the one before it took more time than is left.
        """
        self._looked = monotonic()
        with watched(self._check):
            yield

    def _check(self) -> None:
        before, self._looked = self._looked, monotonic()
        if not self.fits(self._looked - before):
            raise OutOfBudgetError("the time for it was over")
        if resident_bytes() - self._held > self.memory:
            raise OutOfBudgetError(f"it needs more than {self.memory / 1e9:.1f} GB of memory")


class Cost(NamedTuple):
    """What a pipeline costs.

    Attributes:
        p95: milliseconds of a query with ten hits, at the 95th percentile.
        mb: size of the files that it needs, in 10⁶ bytes.
    """

    p95: float
    mb: float

    def within(self, options: LearnOptions) -> bool:
        """Return whether a search may cost so much."""
        return (options.max_ms is None or self.p95 <= options.max_ms) and (
            options.max_mb is None or self.mb <= options.max_mb
        )

    def __str__(self) -> str:
        return f"{self.p95:.1f} ms at the 95th percentile and {self.mb:.0f} MB"


def measure_cost(
    bundle: BundleFiles, queries: Sequence[JudgedQuery], pipeline: PipelineLike
) -> Cost:
    """Return what a pipeline of a bundle on disk costs for some queries, one at a time.

    Raises:
        RankletError: the fresh process ended with an error.
    """
    recipe = bundle.manifest.pipeline(pipeline)
    texts = [query.text for query in queries[:TIMED]]
    given = json.dumps([str(bundle.path), recipe.to_json(), texts, WARM])
    needed = [bundle.manifest.files[name] for name in list_needed_files(bundle, recipe.rankers)]
    size = sum(each.bytes for each in needed) / 1e6
    return Cost(in_fresh_process(MEASURE, given=given), size)
