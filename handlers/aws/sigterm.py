"""Notice SIGTERM at once, even while the main thread waits in C code."""

import os
import signal
import threading
from collections.abc import Callable


def on_sigterm(act: Callable[[], None]) -> None:
    """Call `act` once, in a thread of its own, when SIGTERM arrives.

    Python runs a signal's handler only after the main thread has returned from C code. A runtime
    client that waits there for an event may never return. But the signal also writes a byte to a
    pipe at once, and another thread reads it.

    Has no effect outside the main thread, where Python cannot set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(
        signal.SIGTERM, lambda *_: None
    )  # a handler must exist for the byte to be written
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        while os.read(reading, 1)[0] != signal.SIGTERM:
            pass  # another signal with a handler
        act()

    threading.Thread(target=watch, name="ranklet SIGTERM", daemon=True).start()
