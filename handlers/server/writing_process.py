"""Write to the bundle in a process of its own, so that answers do not wait for writes.

The threads of a process share one processor, of which twenty writes per second take almost half.
One JSON object per line goes each way.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from threading import Lock
from typing import Any

from ranklet.handlers import logs
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.writing import Order, written
from ranklet.runtime.errors import BundleError, RemoteError

_ENDS_WITHIN = 10  # seconds after its last order


class WritingProcess:
    """Writes one order after another in a process that starts with the first one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, order: Order) -> dict[str, Any]:
        """Return the counts of what was written; see `written`.

        Raises:
            RequestError: the order cannot be used.
            RemoteError: a store did not answer.
            BundleError: the write failed, or the process ended.
        """
        line = json.dumps(order).encode() + b"\n"
        with self._lock:
            answer = self._answer(line)
        if "counts" in answer:
            return dict(answer["counts"])
        status, said = answer["status"], answer["said"]
        if status == 500:
            raise BundleError(f"the process that writes could not:\n{said}")
        raise RemoteError(said) if status == 503 else RequestError(status, said)

    def close(self) -> None:
        """Let the process end once it has written."""
        with self._lock:
            self._forget()

    def _answer(self, line: bytes) -> dict[str, Any]:
        process = self._process = self._process or _started()
        got = b""
        if process.stdin is not None and process.stdout is not None:
            try:
                process.stdin.write(line)
                process.stdin.flush()
                got = process.stdout.readline()
            except OSError:  # it has ended
                pass
        if not got.endswith(b"\n"):
            self._forget()
            raise BundleError(f"the process that writes has ended with {process.returncode}")
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


def _started() -> "subprocess.Popen[bytes]":
    # Without -P, modules that happen to lie in the current folder would come first.
    return subprocess.Popen(  # noqa: S603  # this Python, with this module
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C is for the server
    )


def main() -> None:
    """Write what each line of standard input orders, until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin.buffer:
        try:
            answer: dict[str, Any] = {"counts": written(json.loads(line))}
        except Exception as error:
            status, _ = failure(error)
            said = logs.stack_of(error) if status == 500 else str(error)
            answer = {"status": status, "said": said}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
