"""Wait until what was written is on the disk, so that a loss of power leaves no half of it.

A rename may reach the disk before the files that it renames. Therefore these are synced before it,
and the folder in which it happens is synced after it.
"""

import errno
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

_AT_ONCE = 16  # files that wait for the disk at the same time
_CANNOT = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of file systems that sync no folders


def sync_file(file: IO[bytes]) -> None:
    """Wait until all that was written to an open file is on the disk.

    Raises:
        OSError: that failed, as on a full disk.
    """
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where a system can say so.

    Raises:
        OSError: that failed.
    """
    if os.name == "nt":  # no folder can be opened
        return
    _sync(folder, os.O_RDONLY)


def sync_tree(path: Path) -> None:
    """Wait until a file, or a folder with all that it holds, is on the disk.

    Raises:
        OSError: that failed.
    """
    sync_all((path, *path.rglob("*")) if path.is_dir() else (path,))


def sync_all(paths: Iterable[Path]) -> None:
    """Wait until some files, and the names in some folders, are on the disk.

    Raises:
        OSError: that failed.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # a file system commits what waits in one step
        for _ in pool.map(_sync_either, paths):
            pass


def _sync_either(path: Path) -> None:
    if path.is_dir():
        sync_folder(path)
    else:
        _sync(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(descriptor)
