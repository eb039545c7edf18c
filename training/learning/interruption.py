"""Ctrl-C between two steps, never within one: what is saved then can be gone on from."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed.

    Attributes:
        asked: True from the first time on; the second one raises KeyboardInterrupt at once.
    """

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Note the signal; for `signal.signal`."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def held_back() -> Iterator[Interruption]:
    """Hold Ctrl-C back within a ``with``; the caller looks at `Interruption.asked`.

    In any other than the main thread, and where SIGINT is not Python's to handle, nothing is
    changed.
    """
    found = Interruption()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield found
        return
    signal.signal(signal.SIGINT, found)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
