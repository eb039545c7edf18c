"""The folder of the block cache: where it is, and how much it may hold."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.writing.private_folder import private_folder

DEFAULT_LIMIT = 10.0  # GB, 10⁹ bytes, but at most half of the disk
SUFFIX, EXPORT = ".blocks", ".zip"  # of blocks of bundles, and of exports of models
T = TypeVar("T")
_SECTOR = 512  # bytes; the unit of st_blocks


def cache_folder(folder: str | os.PathLike[str] | None = None, part: str = "blocks") -> Path:
    """Return the folder of a part of the cache, which is made if it is missing.

    Args:
        folder: the caller's; None for that of RANKLET_CACHE, else ``ranklet`` in the user's folder
            for caches.
        part: the name of the part.

    Raises:
        BundleError: it cannot be made, or other users can write to it.
        InputError: this system cannot share a cache among processes.
    """
    locks()
    chosen = folder or os.environ.get(Variable.CACHE) or None
    path = (_default() if chosen is None else Path(chosen)).absolute()
    instead = f"set {Variable.CACHE} to a folder for the cache that only this user can write to"
    private_folder(path, instead)
    return private_folder(path / part, instead)


def locks() -> ModuleType:
    """Return the module that locks files of the cache.

    Raises:
        InputError: this system has none.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        raise InputError(
            "this system cannot read a bundle at an address, because it has no shared locks of "
            "files; download the .zip and give its path"
        ) from None
    return fcntl


def _default() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if caches.is_absolute():
        return caches / "ranklet"
    with suppress(RuntimeError):  # the user has no home
        home = Path.home()
        if os.access(home, os.W_OK):
            return home / ".cache" / "ranklet"
    return Path(tempfile.gettempdir()) / f"ranklet-cache-{os.getuid()}"


def limit(folder: Path) -> int:
    """Return how many bytes the cache may hold.

    Raises:
        InputError: RANKLET_CACHE_GB is not a number above 0.
    """
    text = os.environ.get(Variable.CACHE_GB)
    if not text:
        return min(int(DEFAULT_LIMIT * 1e9), shutil.disk_usage(folder).total // 2)
    try:
        gigabytes = float(text)
    except ValueError:
        gigabytes = 0.0
    if not 0 < gigabytes < 1e9:
        raise InputError(f"{Variable.CACHE_GB} is {text[:40]!r}; it must be a number above 0")
    return int(gigabytes * 1e9)


def make_room(folder: Path, most: int) -> None:
    """Remove the files that were used longest ago until the folder holds at most `most` bytes.

    A file that a process has open stays, so more may be left.
    """
    files = _by_use(folder)
    _remove(files, sum(size for size, _ in files) - most)


def with_room(folder: Path, size: int, write: Callable[[], T]) -> T:
    """Return what a function returns that writes about `size` bytes to the cache.

    If the disk is full, files that were used longest ago leave, and it is called once more.

    Raises:
        OSError: it cannot write.
    """
    try:
        return write()
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT):
            raise
    _remove(_by_use(folder), size)
    return write()


def _by_use(folder: Path) -> list[tuple[int, Path]]:
    """Return the files and the bytes that each takes; the first was used longest ago."""
    files = []
    with suppress(OSError):
        for path in folder.glob("*"):
            if path.suffix not in (SUFFIX, EXPORT):
                continue
            with suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_blocks * _SECTOR, path))
    return [(size, path) for _, size, path in sorted(files)]


def _remove(files: list[tuple[int, Path]], size: int) -> None:
    """Remove the first files until they had `size` bytes; those that a process has open stay."""
    for held, path in files:
        if size <= 0:
            return
        with suppress(OSError), _hold_unused(path):
            path.unlink()
            size -= held


@contextmanager
def _hold_unused(path: Path) -> Iterator[None]:
    """Hold a file that no process has open; raise OSError for another."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl = locks()
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
