"""Writes of all processes of a server, so that each of them finds what another has written."""

from ranklet.handlers.server.shared_counts import SharedCounts

_NAME = ("writes",)


class Writes:
    """Counts writes.

    Args:
        counts: what the processes count together.
    """

    def __init__(self, counts: SharedCounts) -> None:
        self._counts = counts
        counts.add(_NAME, 0)  # in one order in all processes

    def count(self) -> None:
        """Count a write, which whoever asks next must find."""
        self._counts.add(_NAME, 1)

    @property
    def total(self) -> float:
        """How many writes there were."""
        return sum(self._counts.of_all(_NAME))
