"""Put a new file or folder in the place of an old one, in one step where the system can."""

import ctypes
import os
import sys
from pathlib import Path

from ranklet.runtime.writing.leftovers import remove
from ranklet.runtime.writing.syncing import sync_folder, sync_tree

_WORKING_FOLDER, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def replace_target(new: Path, target: Path, aside: Path) -> None:
    """Replace a file or folder by another, and leave the old one at `new` or remove it.

    A zip replaces a zip in one step, and Linux exchanges folders in one step. Elsewhere the old
    one is put aside for a moment, in which readers find nothing. The new one is on the disk before
    it takes its place, and the change is on the disk when the old one is removed.
    """
    sync_tree(new)
    if not target.exists() or (new.is_file() and target.is_file()):
        new.replace(target)
    elif not _exchange(new, target):
        target.rename(aside)
        try:
            new.rename(target)
        except OSError:
            aside.rename(target)
            raise
    sync_folder(target.parent)
    remove(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Let two files or folders change places in one step; return False where that is impossible."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # the C library is older than the system's call
        return False
    paths = (os.fsencode(one), os.fsencode(other))
    status: int = rename(_WORKING_FOLDER, paths[0], _WORKING_FOLDER, paths[1], _EXCHANGE)
    return status == 0
