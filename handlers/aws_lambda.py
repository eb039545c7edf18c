"""The handler of AWS Lambda: ``ranklet.handlers.aws_lambda.handler``. See docs/lambda.md.

    RANKLET_BUNDLE=search.ranklet python -m ranklet.handlers.aws_lambda EVENT.json

answers the event in a file on this machine.

Importing this module does nothing. The function starts when the attribute `handler` is read for the
first time: it loads the bundle and runs a first query. Lambda reads the attribute in its init
phase, in which time costs least and after which a snapshot is taken.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from ranklet.handlers.aws.function import Function
from ranklet.runtime.answers.console import printable
from ranklet.runtime.ground.errors import InputError, RankletError
from ranklet.runtime.ground.variables import Variable


def __getattr__(name: str) -> Any:
    if name == "handler":
        globals()[name] = function = start()  # from now on reading it does not come here
        return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def start() -> Function:
    """Start the function: read the environment, load the bundle, run a first query, set hooks.

    Raises:
        RankletError: a variable cannot be used, or there is no bundle although a version is being
            prepared (SnapStart, provisioned concurrency) that must not go live without one.
    """
    variables = os.environ
    if "AWS_LAMBDA_MAX_CONCURRENCY" in variables:  # several processes share the processors
        variables.setdefault(Variable.THREADS, "1")
    function = Function(variables)
    initialization = variables.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
    function.load(must=initialization != "on-demand")
    if initialization == "snap-start":
        from snapshot_restore_py import register_after_restore, register_before_snapshot

        register_before_snapshot(function.before_snapshot)
        register_after_restore(function.after_restore)
    on_sigterm(function.stop)
    return function


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
    signal.signal(signal.SIGTERM, lambda *_: None)  # without a handler no byte is written
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        while os.read(reading, 1)[0] != signal.SIGTERM:
            pass  # another signal with a handler
        act()

    threading.Thread(target=watch, name="ranklet SIGTERM", daemon=True).start()


def main(arguments: Sequence[str]) -> int:
    """Answer the event in a file and print the reply; the log goes to the standard error.

    Returns:
        1 if the function fails, or raises, which a direct caller would see as a failed invocation.
    """
    try:
        event = _event(arguments)
        with redirect_stdout(sys.stderr):
            function = Function(os.environ)
            function.load(must=True)
            reply = function(event, None)
    except RankletError as error:
        sys.stderr.write(f"ranklet: {printable(str(error))}\n")
        return 1
    sys.stdout.write(f"{json.dumps(reply, indent=1)}\n")
    return 0


def _event(arguments: Sequence[str]) -> Any:
    """Return the event in the file that is named.

    Raises:
        InputError: no file is named, or it holds no JSON.
    """
    if len(arguments) != 1:
        raise InputError("give the file of one event: python -m ranklet.handlers.aws_lambda FILE")
    try:
        return json.loads(Path(arguments[0]).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{arguments[0]!r} is no event in JSON: {error}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
