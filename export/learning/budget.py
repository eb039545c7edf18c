"""The time and the memory that learning may take, which are looked at before each piece of work."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from ranklet.corpus.progress import watched
from ranklet.runtime.errors import RankletError
from ranklet.runtime.memory import granted_bytes, resident_bytes

MEMORY_SHARE = 0.5  # of the machine's memory, which learning may take
LEAST_MEMORY = 2e9  # bytes, where the machine has less or does not say


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
        self.memory = max(LEAST_MEMORY, MEMORY_SHARE * granted_bytes())
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
