"""Write to the bundle in a process of its own, so that answers do not wait for writes.

The threads of a process share one processor, of which twenty writes per second take almost half.
One JSON object per line goes each way. What was added is joined with a large bundle by one more
process, after the answer and while others write.
"""

import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from ranklet.handlers import logs
from ranklet.handlers.api.additions import Order, is_large, join, written
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.runtime.ground.errors import BundleError, BusyError, RankletError, RemoteError
from ranklet.runtime.writing.locks import give_up

ENDING = "the server is shutting down; nothing was written, so send the same again"
_ENDED = (
    "the process that writes has ended, so nobody knows whether this was written; send the same "
    "again, which is harmless"
)
_ENDS_WITHIN = 10  # seconds after its last order
_JOINS_AGAIN = 60  # seconds after a process that joins has begun, so that failures cost little


class WritingProcess:
    """Writes one order after another in a process that starts with the first one."""

    def __init__(self) -> None:
        self._lock, self._ending = Lock(), False
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, order: Order) -> dict[str, Any]:
        """Return the counts of what was written; see `written`.

        Raises:
            RequestError: the order cannot be used; 503: the process has ended.
            RemoteError: a store did not answer.
            BusyError: other writes, or those of another program, took longer than the order waits.
            BundleError: the write failed.
        """
        begin = monotonic()
        if not self._lock.acquire(timeout=order["seconds"]):
            raise BusyError("another write took too long; nothing was written")
        try:
            left = max(0.0, order["seconds"] - (monotonic() - begin))
            answer = self._answer(json.dumps({**order, "seconds": left}).encode() + b"\n")
        finally:
            self._lock.release()
        if "counts" in answer:
            return dict(answer["counts"])
        status, said = answer["status"], answer["said"]
        if status == 500:
            raise BundleError(f"the process that writes could not:\n{said}")
        if answer["busy"]:
            raise BusyError(said)
        raise RemoteError(said) if status == 503 else RequestError(status, said)

    def hurry(self) -> None:
        """Take no more orders, and let the last one wait for no other program."""
        self._ending, process = True, self._process
        if process and process.stdin:
            with suppress(OSError):  # of what it will never read
                process.stdin.close()

    def close(self) -> None:
        """Let the process end once it has written."""
        self.hurry()
        if self._lock.acquire(timeout=_ENDS_WITHIN):
            self._forget()
            self._lock.release()
        elif process := self._process:
            process.kill()

    def _answer(self, line: bytes) -> dict[str, Any]:
        if self._ending:
            raise RequestError(503, ENDING)
        process = self._process = self._process or _started()
        got = b""
        if process.stdin is not None and process.stdout is not None:
            try:
                process.stdin.write(line)
                process.stdin.flush()
                got = process.stdout.readline()
            except (OSError, ValueError):  # it has ended, or takes no more orders
                pass
        if not got.endswith(b"\n"):
            self._forget()
            logs.write("ERROR", f"the process that writes has ended with {process.returncode}")
            raise RequestError(503, _ENDED)
        return dict(json.loads(got))

    def _forget(self) -> None:
        """Let the process end, which reads no more orders."""
        process, self._process = self._process, None
        for stream in (process.stdin, process.stdout) if process else ():
            if stream is not None:
                with suppress(OSError):  # of what it will never read
                    stream.close()
        if process:
            try:
                process.wait(_ENDS_WITHIN)
            except subprocess.TimeoutExpired:  # no write is lost or half done then
                process.kill()
                process.wait()


def _started(*arguments: str, **streams: Any) -> "subprocess.Popen[bytes]":
    # Without -P, modules that happen to lie in the current folder would come first.
    return subprocess.Popen(  # noqa: S603  # this Python, with this module
        [sys.executable, "-P", "-m", __spec__.name, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C is for the server
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **streams},
    )


def main() -> None:
    """Write what each line of standard input orders, until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    logging.getLogger("ranklet").setLevel(logging.ERROR)  # the answer says who waits for whom
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end of the orders ends it, not half-way
    orders, ended, joiner = SimpleQueue[bytes](), Event(), _Joiner()

    def read() -> None:
        for line in sys.stdin.buffer:
            orders.put(line)
        ended.set()
        orders.put(b"")

    Thread(target=read, daemon=True).start()
    while line := orders.get():
        order = json.loads(line)
        give_up.set(partial(_is_over, ended, monotonic() + order["seconds"]))
        try:
            answer: dict[str, Any] = {"counts": written(order, joins=False)}
        except Exception as error:
            status, _ = failure(error)
            said = logs.describe_stack(error) if status == 500 else str(error)
            answer = {"status": status, "said": said, "busy": isinstance(error, BusyError)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
        if "counts" in answer:
            joiner.look(order["path"])
    joiner.end()


def _is_over(ended: Event, until: float) -> bool:
    return ended.is_set() or monotonic() >= until


class _Joiner:
    """Joins a bundle with what was added to it in a process of its own, if that is large."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._next = 0.0

    def look(self, path: str) -> None:
        """Begin unless nothing is large, or the last one has just begun or goes on."""
        running = self._process is not None and self._process.poll() is None
        with suppress(RankletError, OSError):
            if not running and monotonic() >= self._next and is_large(path):
                self._process = _started(path, stdin=subprocess.DEVNULL, stdout=sys.stderr)
                self._next = monotonic() + _JOINS_AGAIN

    def end(self) -> None:
        """End it, of which the next writer removes what is left."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _join(path: str) -> None:
    """Join a bundle with what was added to it, at the least priority."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(19)
    try:
        join(path)
    except RankletError as error:
        logs.write("WARNING", f"what was added is not joined with the bundle yet: {error}")


if __name__ == "__main__":
    if sys.argv[1:]:
        _join(sys.argv[1])
    else:
        main()
