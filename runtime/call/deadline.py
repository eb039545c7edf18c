"""Limit the time of a call; work that cannot begin in time is skipped."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from math import inf
from time import perf_counter

FIRST_SLICE = 8  # candidates; enough to measure the pace, few enough to cost little time
# Returns whether whoever waits for the work of this thread is gone; `bool` returns False.
caller_gone: ContextVar[Callable[[], bool]] = ContextVar("caller_gone", default=bool)


class Deadline:
    """A moment after which no more work begins, nor when the caller is gone.

    Args:
        budget_ms: milliseconds from now; None for no limit.
        clock: returns the time in seconds.
    """

    def __init__(
        self, budget_ms: float | None = None, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._clock, self._gone = clock, caller_gone.get()
        self._end = inf if budget_ms is None else clock() + float(budget_ms) / 1e3

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self._end != inf

    @property
    def passed(self) -> bool:
        """Whether the budget is spent."""
        return self._clock() >= self._end or self._gone()

    def left_ms(self) -> float | None:
        """Return the milliseconds that are left, at least 0, or None without a budget."""
        return max(0.0, (self._end - self._clock()) * 1e3) if self.limited else None

    def slices(self, count: int, first: int = FIRST_SLICE) -> Iterator[slice]:
        """Yield consecutive slices of 0 … count while there is time to work on them.

        The first slice has `first` items. Each later slice is at most twice as large as the one
        before and no larger than the pace so far allows to finish in time. Without a budget there
        is one slice of all items.
        """
        begin, done, size = self._clock(), 0, first if self.limited else count
        while done < count:
            now = self._clock()
            if done:
                pace = max((now - begin) / done, 1e-9)  # seconds per candidate
                size = int(min(2 * size, (self._end - now) / pace))
            if size < 1 or self.passed:
                return
            yield slice(done, min(done + size, count))
            done += size
