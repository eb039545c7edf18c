"""Limit the time of a call; work that cannot begin in time is skipped."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from math import inf
from time import perf_counter
from typing import TypeVar

import numpy as np

from ranklet.runtime.ground.errors import OutOfTimeError

T = TypeVar("T")

FIRST_SLICE = 2  # candidates; enough to measure the pace, few enough to cost little time
_FIRST_CHARACTERS = 20_000  # of a first slice, which take some 10 ms to split into words
_PER_TEXT = 100  # characters that take about as long as a text's own share, beside its characters
_LONGEST = 0.1  # seconds of a slice, as far as the pace so far tells
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

    def look(self) -> None:
        """Raise OutOfTimeError if no more work should begin that was not expected to take long."""
        if self.passed:
            raise OutOfTimeError("the time was up while a long text was read; send a shorter one")

    def wanted(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items of an answer, and raise OutOfTimeError once nobody waits for it."""
        for each in items:
            if self._gone():
                raise OutOfTimeError("nobody waits for the answer any more")
            yield each

    def left_ms(self) -> float | None:
        """Return the milliseconds that are left, at least 0, or None without a budget."""
        return max(0.0, (self._end - self._clock()) * 1e3) if self.limited else None

    def slices(
        self,
        count: int,
        first: int = FIRST_SLICE,
        lengths: Sequence[int] | None = None,
        *,
        begun: bool = False,
    ) -> Iterator[slice]:
        """Yield consecutive slices of 0 … count while there is time to work on them.

        The first slice has `first` items, or as many of them as are short. Each later slice is at
        most twice as large as the one before, and no larger than the pace so far allows to end in
        time and in a tenth of a second. If there is no budget and nobody could be gone, there is
        one slice of all items.

        Args:
            count: how many items there are.
            first: how many the first slice may have.
            lengths: the characters of each item if it is a text, (count,).
            begun: whether the first slice is yielded even if the time is up.
        """
        if not self.limited and self._gone is bool:
            yield from [slice(0, count)] * (count > 0)
            return
        sizes = np.ones(count) if lengths is None else np.add(lengths, _PER_TEXT, dtype=np.float64)
        ends = np.cumsum(sizes)  # the size of the items up to each one
        begin, done, most = self._clock(), 0, float(first)
        while done < count:
            if done:
                took, left = self._clock() - begin, self._end - self._clock()
                if took / done > left:
                    return
                pace = max(took / ends[done - 1], 1e-9)
                most = min(2 * most, left / pace, _LONGEST / pace)
            elif lengths is not None:
                most = min(ends[min(first, count) - 1], _FIRST_CHARACTERS)
            if self.passed and (done or not begun):
                return
            before = ends[done - 1] if done else 0.0
            # A hair more, because sums and quotients of floats are rounded.
            after = int(np.searchsorted(ends, before + most * (1 + 1e-9), "right"))
            after = max(done + 1, after)
            yield slice(done, after)
            most, done = ends[after - 1] - before, after
