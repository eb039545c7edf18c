import signal
import subprocess
import sys
from threading import Thread

from tests.handlers.runtime_api import PATIENCE

from ranklet.handlers.aws.sigterm import on_sigterm

# The main thread waits in C code that goes on after a signal, so a handler of Python's never runs.
WAITING = """
import ctypes, os, signal
from ranklet.handlers.aws.sigterm import on_sigterm
on_sigterm(lambda: os._exit(7))
signal.siginterrupt(signal.SIGTERM, False)
empty, _ = os.pipe()
print("ready", flush=True)
ctypes.CDLL(None).read(empty, ctypes.create_string_buffer(1), 1)
"""


def test_sigterm_is_noticed_while_the_main_thread_waits_in_c() -> None:
    command = [sys.executable, "-W", "error", "-c", WAITING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 7


def test_another_thread_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    thread = Thread(target=on_sigterm, args=(lambda: None,))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
