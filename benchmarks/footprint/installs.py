"""What an installation takes on disk, and how long its first import lasts, next to other libraries.

uv installs each into an environment of its own, without byte code. The first import compiles it;
what is timed are later ones, in turns.
"""

import subprocess
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks.footprint.wheels import find_uv
from benchmarks.harness.place import ROOT, MissingDataError, Place
from benchmarks.harness.report import table

PACKAGES = ()
ROUNDS = 7


class Installed(NamedTuple):
    """A library, what is installed, and what a program that searches with it imports first."""

    name: str
    wanted: str
    imports: str


LIBRARIES = (
    Installed("ranklet", str(ROOT), "ranklet.runtime"),
    Installed("ranklet[onnx]", f"{ROOT}[onnx]", "ranklet.runtime, onnxruntime, tokenizers"),
    Installed("bm25s", "bm25s", "bm25s"),
    Installed("FastEmbed", "fastembed", "fastembed"),
    Installed("LanceDB", "lancedb", "lancedb"),
    Installed("txtai", "txtai", "txtai"),
    Installed("sentence-transformers", "sentence-transformers", "sentence_transformers"),
)


def run(place: Place) -> str:  # noqa: ARG001
    """Install and import each.

    Raises:
        MissingDataError: uv is missing, or a library cannot be installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        pythons, sizes = {}, {}
        for each in LIBRARIES:
            home = Path(folder) / each.name
            pythons[each.name] = _install(home, each.wanted)
            sizes[each.name] = _bytes(home / "lib") / 1e6
        times: dict[str, list[float]] = {each.name: [] for each in LIBRARIES}
        for turn in range(ROUNDS + 1):
            for each in LIBRARIES:
                took = _imported(pythons[each.name], each.imports)
                if turn:  # the first compiles
                    times[each.name].append(took)
    rows = [
        [each.name, f"`{each.imports}`", f"{sizes[each.name]:.0f}", f"{np.median(taken) * 1e3:.0f}"]
        for each, taken in zip(LIBRARIES, times.values(), strict=True)
    ]
    return f"""
{table(["installed", "imported", "MB", "ms from the start of Python"], rows)}

MB are 10⁶ bytes of all that is installed, without byte code. txtai and sentence-transformers get \
PyTorch as PyPI has it for Linux, with CUDA. Medians of {ROUNDS} fresh processes.
"""


def _install(home: Path, wanted: str) -> Path:
    """Return the interpreter of a new environment that has a package."""
    python, uv = home / "bin" / "python", find_uv()
    for command in (
        [uv, "venv", "--quiet", "--python", "3.11", str(home)],
        [uv, "pip", "install", "--quiet", "--python", str(python), wanted],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingDataError(f"{wanted} cannot be installed: {done.stderr.strip()[-200:]}")
    return python


def _bytes(folder: Path) -> int:
    files = (each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    return sum(each.stat().st_size for each in files if each.suffix != ".pyc")


def _imported(python: Path, modules: str) -> float:
    begin = perf_counter()
    environment = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([python, "-c", f"import {modules}"], check=True, env=environment)
    return perf_counter() - begin
