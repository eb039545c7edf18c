"""Fresh Python processes: each runs a snippet and answers with one JSON object."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from benchmarks.harness.place import ROOT
from ranklet.runtime.ground.variables import Variable

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


@contextmanager
def one_thread() -> Iterator[None]:
    """Open sessions of onnxruntime with one thread; a library's variable does not reach them."""
    before = os.environ.get(Variable.THREADS)
    os.environ[Variable.THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[Variable.THREADS]
        os.environ |= {Variable.THREADS: before} if before is not None else {}


# What every snippet begins with. perf_counter is the machine's monotonic clock: it can be compared
# between processes. `lap` notes the ms since the last lap; `answer` holds whatever else.
_PRELUDE = """
import sys, time
last, laps, answer = float(sys.argv[1]), {}, {}
def lap(name):
    global last
    now = time.perf_counter()
    laps[name], last = (now - last) * 1e3, now
lap("interpreter")
"""
# The peak resident memory comes from VmHWM: ru_maxrss would also count the parent's at the fork.
_POSTLUDE = """
import json
status = open("/proc/self/status").read().split()
for name in ("VmHWM", "RssAnon", "RssFile"):
    answer[name] = int(status[status.index(name + ":") + 1]) * 1024
print(json.dumps({"laps": laps, **answer}))
"""


def fresh(
    snippet: str,
    values: Mapping[str, Any],
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] = ONE_THREAD,
) -> dict[str, Any]:
    """Run a snippet, with `values` as its global variables, in a new Python process.

    Args:
        snippet: code; it may call `lap` and put results into `answer`.
        values: by name.
        python: the interpreter.
        environment: variables next to this process's own.

    Returns:
        ``laps``: ms by stage; ``VmHWM``: peak resident memory, ``RssAnon`` and ``RssFile``: the
        private and the mapped part of it at the end, all in bytes; and what the snippet put into
        ``answer``.
    """
    inherited = dict(os.environ)
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)  # every start would compile what users keep
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    done = subprocess.run(
        [python, "-c", _PRELUDE + given + snippet + _POSTLUDE, repr(perf_counter())],
        cwd=ROOT / "benchmarks",  # not the root: its folders would be importable next to ranklet's
        env=inherited | dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the process ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
