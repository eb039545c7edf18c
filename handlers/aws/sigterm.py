"""SIGTERM noticed at once, whatever the main thread is waiting for."""

import os
import signal
import threading
from collections.abc import Callable


def on_sigterm(act: Callable[[], None]) -> None:
    """Call `act` once, in a thread of its own, when SIGTERM comes.

    Python runs a signal's handler in the main thread when it is back from C code, and a runtime
    client that waits there for an event may never be. A byte through a pipe gets out at once.

    Does nothing outside the main thread, where Python sets no handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGTERM, lambda *_: None)  # so that the byte is written, and no more
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        while os.read(reading, 1)[0] != signal.SIGTERM:
            pass  # another signal that has a handler
        act()

    threading.Thread(target=watch, name="ranklet SIGTERM", daemon=True).start()
