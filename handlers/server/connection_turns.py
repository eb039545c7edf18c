"""Share new connections evenly among the processes that accept them from one socket."""

import os
import socket
from time import monotonic
from typing import Any

from ranklet.handlers.server.shared_counts import SharedCounts

PATIENCE = 0.001  # seconds in which a process that has fewer connections may take a new one
_OPEN = ("connections",)


class InTurns(socket.socket):
    """A listening socket that leaves a new connection to another process that has fewer.

    asyncio accepts in one turn all connections that wait, so of several processes the first one to
    look would have to answer them all, while the others idle. A process that has more than another
    one accepts none for a moment, in which its event loop goes on.

    Args:
        listening: the socket, which is empty afterwards.
        counts: what the processes count together.
    """

    def __init__(self, listening: socket.socket, counts: SharedCounts) -> None:
        made_of = listening.family, listening.type, listening.proto
        super().__init__(*made_of, fileno=listening.detach())
        self._counts, self._waits_until = counts, 0.0
        counts.set(_OPEN, 0)  # those of a former process are gone

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and its address.

        Raises:
            BlockingIOError: none waits, or another process should take it.
            OSError: there is no descriptor left, for example.
        """
        if self._is_ahead() and self._waits():
            if hasattr(os, "sched_yield"):
                os.sched_yield()
            raise BlockingIOError
        accepted = super().accept()
        self._counts.add(_OPEN, 1)
        return accepted

    def closed(self) -> None:
        """Count a connection no more."""
        self._counts.add(_OPEN, -1)

    def _is_ahead(self) -> bool:
        fewest = min(self._counts.of_all(_OPEN))
        return self._counts.get(_OPEN) > fewest + fewest // 8

    def _waits(self) -> bool:
        """Return whether the others still have time; afterwards they have none for as long."""
        now = monotonic()
        if now > self._waits_until + PATIENCE:
            self._waits_until = now + PATIENCE
        return now < self._waits_until
