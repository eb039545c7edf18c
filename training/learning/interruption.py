"""Delay Ctrl-C while weights change or are saved, so that the saved state can be resumed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed.

    Attributes:
        requested: whether it was pressed once. The second Ctrl-C raises KeyboardInterrupt at once.
    """

    def __init__(self) -> None:
        self.requested, self._delayed = False, True

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let Ctrl-C raise KeyboardInterrupt at once during a ``with``, also one from before."""
        self._delayed = False
        try:
            if self.requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._delayed = True

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Record the signal; this is a handler for `signal.signal`."""
        again, self.requested = self.requested, True
        if again or not self._delayed:
            raise KeyboardInterrupt


@contextmanager
def delay_interrupts() -> Iterator[Interruption]:
    """Delay Ctrl-C during a ``with``, in which the caller says where it may come at once.

    Nothing changes outside the main thread or if SIGINT has another handler than Python's.
    """
    interruption = Interruption()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interruption
        return
    signal.signal(signal.SIGINT, interruption)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
