"""What one API key may ask for, so that no holder of a key can take a whole server."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import time

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.server.shared_counts import SharedCounts

NUMBERS = 3  # that are counted for each key


class KeyBounds:
    """Counts the requests of each key, in all processes together.

    Args:
        counts: what the processes count together.
        keys: the number of keys.
        at_once: the requests of a key that may be unanswered; 0 for any number.
        per_minute: the requests of a key in a minute of the clock; 0 for any number.
    """

    def __init__(self, counts: SharedCounts, keys: int, at_once: int, per_minute: int) -> None:
        self._counts, self._at_once, self._per_minute = counts, at_once, per_minute
        for key in map(str, range(keys)):  # in one order in all processes
            counts.set(("open", key), 0)  # what a former process had begun is gone
            counts.add(("minute", key), 0)
            counts.add(("begun", key), 0)

    @contextmanager
    def counted(self, number: int | None) -> Iterator[None]:
        """Count a request until it is answered; the key with the number None has no bounds.

        Raises:
            RequestError: 429: the key has too many.
        """
        if number is None:
            yield
            return
        key, counts = str(number), self._counts
        if self._at_once and sum(counts.of_all(("open", key))) >= self._at_once:
            raise RequestError(
                429,
                f"this key has {self._at_once:,} requests that are not answered yet, which is all "
                "that it may have at once; wait for an answer",
            )
        self._begin(key)
        counts.add(("open", key), 1)
        try:
            yield
        finally:
            counts.add(("open", key), -1)

    def _begin(self, key: str) -> None:
        """Count a request of this minute."""
        if not self._per_minute:
            return
        counts, minute = self._counts, time() // 60
        begun = zip(counts.of_all(("begun", key)), counts.of_all(("minute", key)), strict=True)
        if sum(each for each, of in begun if of == minute) >= self._per_minute:
            raise RequestError(
                429,
                f"this key has sent {self._per_minute:,} requests in this minute, which is all "
                "that it may; try again in a minute",
            )
        if counts.get(("minute", key)) != minute:
            counts.set(("begun", key), 0)
            counts.set(("minute", key), minute)
        counts.add(("begun", key), 1)
