"""Measure the time of a training without the time of its evaluations."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class Stopwatch:
    """A clock that can pause.

    Args:
        before: seconds that it has counted earlier.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._counted, self._since = before, monotonic()

    @property
    def seconds(self) -> float:
        """Seconds that were counted, outside of pauses."""
        return self._counted + monotonic() - self._since

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count no time during a ``with``."""
        counted = self.seconds
        try:
            yield
        finally:
            self._counted, self._since = counted, monotonic()
