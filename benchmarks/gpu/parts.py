"""The parts of the GPU checks, each in a process of its own with a time of its own.

``python -m benchmarks.gpu.parts PART`` reads a setting from its input and prints its rows, one JSON
list a line, as soon as each is known. So a part that crashes or is stopped keeps its rows.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from time import perf_counter
from types import ModuleType

from benchmarks.gpu.setting import SKIPPED, Result, Setting, last_line
from benchmarks.harness.place import ROOT
from benchmarks.harness.report import table
from ranklet.corpus.collections import probes

GRACE = 10.0  # seconds that a part may take beyond its time to end by itself


@dataclass(frozen=True)
class Part:
    """A part of the checks.

    Attributes:
        module: its module in benchmarks/gpu/, with `HEAD`, `ABOUT` and `rows`.
        title: of its table.
        share: of the time of all parts.
    """

    module: str
    title: str
    share: float


# What was never measured, or is to be mended, comes first.
PARTS = (
    Part("machine", "Machine", 0.04),
    Part("throughput", "Throughput", 0.2),
    Part("server", "Server under load", 0.1),
    Part("million", "A million vectors", 0.1),
    Part("parity", "Parity", 0.42),
    Part("io_binding", "I/O binding", 0.05),
    Part("tensorrt", "TensorRT", 0.09),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a part.

    Attributes:
        part: the part.
        results: its rows.
        note: what ended it before its time; empty if nothing did.
        failed: whether that was an error.
        on: the card and the day; empty for this run's.
    """

    part: Part
    results: Sequence[Result]
    note: str = ""
    failed: bool = False
    on: str = ""

    @property
    def whole(self) -> bool:
        """Whether all of it was measured, so that it need not be again."""
        skipped = any(SKIPPED in each.cells for each in self.results)
        return bool(self.results) and not (self.note or self.errors or skipped)

    @property
    def errors(self) -> list[str]:
        """What failed, one line each."""
        rows = [each.error for each in self.results if each.error]
        return [f"{self.part.title}: {each}" for each in (*rows, *([self.note] * self.failed))]


def run_part(part: Part, setting: Setting, seconds: float) -> Outcome:
    """Run a part in a process of its own, for so many seconds at most.

    Its processes, such as a server, end with it.
    """
    until = perf_counter() + seconds
    given = replace(setting, until=until).to_json()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gpu.parts", part.module],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ORT_DISABLE_TELEMETRY": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stopped = False
    try:
        out, err = process.communicate(given, timeout=seconds + GRACE)
    except subprocess.TimeoutExpired:
        stopped = True
        _end(process)
        out, err = process.communicate()
    finally:
        _end(process)
    results = parsed(out)
    if stopped:
        return Outcome(part, results, f"stopped after {seconds + GRACE:.0f} s; the rest is skipped")
    if process.returncode or any(each.error for each in results):
        print(err, file=sys.stderr)
    if process.returncode:
        reason = last_line(err) if process.returncode > 0 else f"signal {-process.returncode}"
        return Outcome(part, results, f"failed: {reason}", failed=True)
    return Outcome(part, results)


def parsed(output: str) -> list[Result]:
    """Return the rows that a part printed; other lines, and one that was cut, are left out."""
    results = []
    for line in output.splitlines():
        try:
            cells, error = json.loads(line)
        except (ValueError, TypeError):
            continue
        results.append(Result(tuple(map(str, cells)), str(error)))
    return results


def section(outcome: Outcome, module: ModuleType) -> str:
    """Return a part's table in Markdown, with what ended it and what its figures mean."""
    width = len(module.HEAD)
    rows = [[*each.cells, *[""] * (width - len(each.cells))] for each in outcome.results]
    body = table(module.HEAD, rows) if rows else "No row was measured."
    note = f"\n- **{outcome.note}**" if outcome.note else ""
    note += f"\n- Measured on {outcome.on}." if outcome.on else ""
    return f"### {outcome.part.title}\n\n{body}\n{note}{module.ABOUT.rstrip()}\n"


def module_of(part: Part) -> ModuleType:
    """Return the module of a part."""
    return import_module(f"benchmarks.gpu.{part.module}")


def _end(process: "subprocess.Popen[str]") -> None:
    """End a part's process and all that it has started."""
    with suppress(ProcessLookupError, PermissionError):  # nothing of it is left
        os.killpg(process.pid, signal.SIGKILL)


def _print_rows(name: str) -> None:
    """Print the rows of a part; whatever libraries print goes to the standard error."""
    setting, out = Setting.from_json(sys.stdin.read()), os.dup(1)
    os.dup2(2, 1)
    # The checks compare networks on the setting's texts, so proofs need not be longer than these.
    probes.LEAST_QUERIES, probes.LEAST_DOCUMENTS = setting.probes
    module = import_module(f"benchmarks.gpu.{name}")
    with os.fdopen(out, "w") as lines:
        for result in module.rows(setting):
            print(json.dumps(result), file=lines, flush=True)


if __name__ == "__main__":
    _print_rows(sys.argv[1])
