"""Processes whose memory is watched while they run, and files that are dropped from the cache."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter, sleep
from typing import NamedTuple

_EVERY = 0.02  # seconds between two looks at a process
_MB = 1e6


class Watched(NamedTuple):
    """What a process took."""

    seconds: float
    resident: float  # peak, with mapped files, MB
    private: float  # peak of what is the process's own and no file, MB


def watched(code: str, *arguments: str | Path) -> Watched:
    """Run Python code in a fresh process and return what it took.

    Args:
        code: reads its arguments from `sys.argv`.
        arguments: of the process.

    Raises:
        RuntimeError: it failed; the message has the end of what it printed.
    """
    begin, resident, private = perf_counter(), 0.0, 0.0
    with TemporaryFile("w+") as errors:  # a pipe would fill up
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        while process.poll() is None:
            status = _status(process.pid)
            # VmHWM is the peak itself, RssAnon what is there now.
            resident = max(resident, status.get("VmHWM", 0.0))
            private = max(private, status.get("RssAnon", 0.0))
            sleep(_EVERY)
        seconds = perf_counter() - begin
        errors.seek(0)
        if process.returncode:
            said = errors.read()[-2000:]
            raise RuntimeError(f"the process ended with {process.returncode}:\n{said}")
    return Watched(seconds, resident, private)


def _status(pid: int) -> Mapping[str, float]:
    """Return the memory of a process by the names of the kernel, MB; nothing if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines)
    return {each[0][:-1]: int(each[1]) * 1024 / _MB for each in fields if each[-1:] == ["kB"]}


def forget(folder: Path) -> None:
    """Let the system drop the files of a folder from its cache, as far as they are on a disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
