"""The demo on a terminal, with its output in a file, and with two busy processes.

Each run is a fresh process in an empty folder. The models and the answers must be the same.
"""

import hashlib
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import perf_counter

from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.processes import ONE_THREAD
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.commands.demo.questions import QUESTIONS
from ranklet.commands.demo.results import FIRST, answered, hits

PACKAGES = ("torch", "transformers", "onnxruntime")
SERVED = "python-docs.ranklet"
CONCLUSION = slice(-12, -3)  # the lines with what the search answers
BUSY = 2  # processes that do nothing but compute
SPIN = "while True: pass"


@dataclass(frozen=True)
class Run:
    """One run of the demo.

    Attributes:
        folder: what it wrote.
        seconds: how long it took.
        printed: the lines of its standard output.
        reported: the number of lines of its standard error.
    """

    folder: Path
    seconds: float
    printed: list[str]
    reported: int

    @property
    def models(self) -> str:
        """A digest of the rankers and pipelines that were learned."""
        manifest = runtime.load(self.folder / SERVED).manifest
        files = [(name, entry.sha256) for name, entry in sorted(manifest.files.items())]
        told = repr([files, sorted(map(str, manifest.pipelines.values()))])
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    @property
    def answers(self) -> str:
        """A digest of the first documents of all questions, by every pipeline."""
        bundle, digest = runtime.load(self.folder / SERVED), hashlib.sha256()
        for pipeline in bundle.manifest.pipelines:
            for question in QUESTIONS:
                ids = [name for name, _ in bundle.rank_ids(question, k=FIRST, pipeline=pipeline)]
                digest.update("\n".join(ids).encode())
        return digest.hexdigest()[:12]


def run(place: Place) -> str:
    """Run the demo in each way and compare."""
    work = place.work / "demo"
    with busy():
        with_others = demo(work / "busy", terminal=False)
    runs = {
        "on a terminal": demo(work / "terminal", terminal=True),
        "output in a file": demo(work / "file", terminal=False),
        f"output in a file, {BUSY} busy processes": with_others,
    }
    rows = []
    for name, each in runs.items():
        size = sum(path.stat().st_size for path in (each.folder / SERVED).rglob("*")) / 1e6
        cells = [f"{each.seconds:.0f} s", str(len(each.printed)), str(each.reported), f"{size:.0f}"]
        rows.append([name, *cells, each.models, each.answers])
    last = list(runs.values())[-1]
    bundle = runtime.load(last.folder / SERVED)
    right = {name: hits(answered(bundle, name)) for name in bundle.manifest.pipelines}
    count = len(QUESTIONS)
    answers = [
        [name, f"{value} of {count}", f"{value / count:.0%}"] for name, value in right.items()
    ]
    head = ["run", "time", "lines printed", "lines of progress", "bundle, MB", "models", "answers"]
    return f"""
`ranklet demo` without set-up. *Models* and *answers* are digests of all learned weights and of \
the first {FIRST} documents of all {count} questions by every pipeline. The goals are 3 minutes on \
two idle cores, two screens (60 lines), 100 MB, and the same digests in all runs.

{table(head, rows)}

Questions with a right answer among the first {FIRST} of each pipeline; the goal of the default is \
90%:

{table(["pipeline", "answered", ""], answers)}

```
{chr(10).join(last.printed[CONCLUSION])}
```
"""


def demo(folder: Path, *, terminal: bool) -> Run:
    """Run the demo; `terminal` says whether its output goes to a terminal or to files."""
    command = [sys.executable, "-m", "ranklet", "demo", "-o", str(folder)]
    free = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    environment = {**free, "PYTHONPATH": str(ROOT / "src")}
    begin = perf_counter()
    with _output(terminal) as (out, printed), _output(terminal) as (err, reported):
        subprocess.run(command, stdout=out, stderr=err, env=environment, check=True)
        seconds = perf_counter() - begin
    return Run(folder, seconds, _lines(printed), len(_lines(reported)))


@contextmanager
def _output(terminal: bool) -> Iterator[tuple[int, bytearray]]:
    """Yield a file descriptor to write to, and what was written there, complete at the end."""
    reading, writing = pty.openpty() if terminal else os.pipe()
    written = bytearray()
    reader = Thread(target=_read, args=(reading, written))
    reader.start()
    try:
        yield writing, written
    finally:
        os.close(writing)
        reader.join()
        os.close(reading)


def _read(source: int, into: bytearray) -> None:
    try:
        while part := os.read(source, 1 << 16):
            into.extend(part)
    except OSError:  # a terminal whose other end is closed
        return


def _lines(written: bytearray) -> list[str]:
    return written.decode("utf-8", "replace").replace("\r\n", "\n").splitlines()


@contextmanager
def busy() -> Iterator[None]:
    """Keep processors busy during a ``with``."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
