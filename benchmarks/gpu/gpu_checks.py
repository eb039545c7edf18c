"""fp16 and CUDA on a GPU: parity of every neural kind, throughput, the server, I/O binding."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from benchmarks.gpu.parts import PARTS, Outcome, module_of, run_part, section
from benchmarks.gpu.setting import Setting, last_line
from benchmarks.harness.place import ROOT, MissingDataError, Place

PACKAGES = ("torch", "transformers", "onnxruntime-gpu", "sentence-transformers")
MINUTES = 8.0  # of all parts
CHECK_SECONDS = 120  # the first import of PyTorch can take long
ADVICE = "CONTRIBUTING.md says what to install"


class MissingGPUError(MissingDataError):
    """This machine cannot run models on a GPU."""


def run(place: Place) -> str:
    """Run all parts.

    Raises:
        MissingGPUError: there is no GPU, or a package cannot use it.
    """
    need_gpu()
    with work_folder(place.work) as work:
        return report(measured(Setting(work)))


@contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is removed in the end, so that nothing is left of other code."""
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpu-", dir=parent) as folder:
        yield Path(folder)


def need_gpu() -> None:
    """Raise MissingGPUError, in one line, unless PyTorch and onnxruntime can use a GPU."""
    command = [sys.executable, "-m", "benchmarks.gpu.machine"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise MissingGPUError(
            f"nothing was measured: PyTorch and onnxruntime did not start in {CHECK_SECONDS} s"
        ) from None
    try:
        lacking: list[str] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        lacking = [f"the look for a GPU failed ({last_line(done.stderr)})"]
    if lacking:
        raise MissingGPUError(f"nothing was measured: {'; '.join(lacking)}; {ADVICE}")


def measured(setting: Setting, minutes: float = MINUTES) -> list[Outcome]:
    """Run every part for its share of the time, and say on the standard error how it goes."""
    outcomes = []
    for part in PARTS:
        begin, seconds = perf_counter(), part.share * minutes * 60
        outcome = run_part(part, setting, seconds)
        took = f"{perf_counter() - begin:.0f} of {seconds:.0f} s"
        print(f"{part.title}: {len(outcome.results)} rows, {took}", file=sys.stderr)
        outcomes.append(outcome)
    return outcomes


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the body of the section: what failed, then a table per part."""
    errors = [error for outcome in outcomes for error in outcome.errors]
    head = ["**Failed:**", "", *(f"- {error}" for error in errors), ""] if errors else []
    return "\n".join([*head, *(section(each, module_of(each.part)) for each in outcomes)])
