"""The time that a call may take: what cannot begin within it is left out."""

from collections.abc import Callable, Iterator
from math import inf
from time import perf_counter

FIRST_SLICE = 8  # candidates: enough to see the pace, few enough to be worth losing


class Deadline:
    """A moment after which nothing more is begun.

    Args:
        budget_ms: milliseconds from now, None for as long as it takes.
        clock: gives the time in seconds.
    """

    def __init__(
        self, budget_ms: float | None = None, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._clock = clock
        self._end = inf if budget_ms is None else clock() + float(budget_ms) / 1e3

    @property
    def limited(self) -> bool:
        """True if and only if there is a budget."""
        return self._end != inf

    @property
    def passed(self) -> bool:
        """True if and only if the budget is spent."""
        return self._clock() >= self._end

    def left_ms(self) -> float | None:
        """Return the milliseconds that are left, 0 where none are, None without a budget."""
        return max(0.0, (self._end - self._clock()) * 1e3) if self.limited else None

    def slices(self, count: int, first: int = FIRST_SLICE) -> Iterator[slice]:
        """Yield slices of 0 … count, to be worked on one by one, while there is time for them.

        The first one is begun in time; each later one is up to twice as large as the last, and no
        larger than what the pace so far lets end in time. Without a budget there is one, of all.
        """
        begin, done, size = self._clock(), 0, first if self.limited else count
        while done < count:
            now = self._clock()
            if done:
                pace = max((now - begin) / done, 1e-9)  # seconds a candidate
                size = int(min(2 * size, (self._end - now) / pace))
            if size < 1 or now >= self._end:
                return
            yield slice(done, min(done + size, count))
            done += size
