"""Contests in one process, in an environment that has the peers: everybody takes turns there."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.package import install
from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.processes import ONE_THREAD

PEERS = (
    "torch==2.13.0",
    "sentence-transformers[onnx]",
    "fastembed",
    "bm25s",
    "PyStemmer",
    "flashrank",
    "lancedb",
    "txtai",
    "openvino",
    "nncf",
)


def contest(
    place: Place,
    module: str,
    request: dict[str, Any],
    *,
    threads: int = 1,
    package: str = "speed",
    python: Path | None = None,
) -> dict[str, Any]:
    """Run a module of benchmarks/ in the peers' environment; return the JSON that it prints.

    Args:
        place: of the run; the request is left in its work folder.
        module: its name; it is given the path of the request.
        request: what it is to do.
        threads: that everybody may use.
        package: of the module.
        python: of another environment than `peer_python`'s.
    """
    path = place.work / f"{module}.json"
    path.write_text(json.dumps(request))
    paths = map(str, (install(ROOT, place.work / "package"), ROOT))
    count = dict.fromkeys(ONE_THREAD, str(threads))
    done = subprocess.run(
        [str(python or peer_python(place)), "-m", f"benchmarks.{package}.{module}", str(path)],
        cwd=ROOT,
        env={
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(paths),
            "HF_HUB_OFFLINE": "1",
            "ORT_DISABLE_TELEMETRY": "1",
            "RANKLET_THREADS": str(threads),
            "HOME": str(place.work),
            **count,
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def peer_python(place: Place) -> Path:
    """Return the Python of an environment with the peers; what is missing is installed."""
    return environment(place, "peers", PEERS)


def environment(place: Place, name: str, packages: Sequence[str]) -> Path:
    """Return the Python of an environment of some packages; it is made if it lacks any.

    Args:
        place: of the run.
        name: of the environment's folder.
        packages: as pip takes them, in the order in which they are installed.
    """
    folder = place.work / name
    python, listed = folder / "bin" / "python", folder / "peers.txt"
    wanted = "\n".join(packages)
    if not listed.is_file() or listed.read_text() != wanted:
        print("installing the peers …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for package in packages:  # torch first: the build for processors, where it can be had
            command = [str(python), "-m", "pip", "install", "--quiet", package]
            subprocess.run(command, check=True)
        listed.write_text(wanted)
    return python
