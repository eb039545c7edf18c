"""fp16 and CUDA on a GPU: parity of every neural kind, throughput, the server, I/O binding.

What a part has measured is kept in a folder, so that a run on the next loan of a card measures the
other parts only; a part that failed or was cut is measured again.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from benchmarks.gpu.parts import PARTS, Outcome, Part, module_of, run_part, section
from benchmarks.gpu.setting import Result, Setting, last_line
from benchmarks.harness.place import ROOT, MissingDataError, Place

PACKAGES = ("torch", "transformers", "onnxruntime-gpu", "sentence-transformers")
MINUTES = 9.0  # of all parts
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


def measured(setting: Setting, minutes: float = MINUTES, keep: Path | None = None) -> list[Outcome]:
    """Run every part for its share of the time, and say on the standard error how it goes.

    Parts that are kept whole in the folder `keep` are not run, and the others share the time.
    """
    done = {part: _kept(part, keep) for part in PARTS}
    left = [part for part in PARTS if done[part] is None]
    whole = sum(part.share for part in left)
    for part in left:
        begin, seconds = perf_counter(), part.share / whole * minutes * 60
        outcome = run_part(part, setting, seconds)
        took = f"{perf_counter() - begin:.0f} of {seconds:.0f} s"
        print(f"{part.title}: {len(outcome.results)} rows, {took}", file=sys.stderr)
        done[part] = outcome
        if keep is not None and outcome.whole:
            _keep(outcome, keep, _card(done))
    return [outcome for outcome in done.values() if outcome]


def _card(done: Mapping[Part, Outcome | None]) -> str:
    """Return the card that the part `machine` names, and the day."""
    machine = next((each for each in done.values() if each and each.part == PARTS[0]), None)
    named = {cells[0]: cells[-1] for cells, _ in (machine.results if machine else ())}
    return f"{named.get('GPU', 'processors')}, {datetime.now(UTC):%Y-%m-%d}"


def _keep(outcome: Outcome, folder: Path, on: str) -> None:
    if outcome.part == PARTS[0]:
        return  # each run has its own machine
    folder.mkdir(parents=True, exist_ok=True)
    content = {"on": on, "rows": [each.cells for each in outcome.results]}
    (folder / f"gpu.{outcome.part.module}.json").write_text(json.dumps(content), "utf-8")


def _kept(part: Part, folder: Path | None) -> Outcome | None:
    path = folder / f"gpu.{part.module}.json" if folder else None
    if path is None or not path.is_file():
        return None
    found = json.loads(path.read_text("utf-8"))
    return Outcome(part, [Result(tuple(cells)) for cells in found["rows"]], on=found["on"])


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the body of the section: what failed, then a table per part."""
    errors = [error for outcome in outcomes for error in outcome.errors]
    head = ["**Failed:**", "", *(f"- {error}" for error in errors), ""] if errors else []
    return "\n".join([*head, *(section(each, module_of(each.part)) for each in outcomes)])
