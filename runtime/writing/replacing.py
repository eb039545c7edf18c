"""Put a new file or folder in the place of an old one, in one step where the system can."""

import ctypes
import os
import sys
from contextlib import ExitStack
from pathlib import Path

from ranklet.runtime.writing.leftovers import remove
from ranklet.runtime.writing.syncing import sync_folder, sync_tree

_WORKING_FOLDER, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def replace_target(new: Path, target: Path, aside: Path) -> None:
    """Replace a file or folder by another, and leave the old one at `new` or remove it.

    Linux exchanges two in one step, and a zip replaces a zip in one everywhere. Else the old one is
    put aside for a moment, in which readers find nothing. The new one is on the disk before it
    takes its place, and the change is on the disk when the old one is removed. After an error the
    old one is back, except for zips where a system cannot exchange them.
    """
    sync_tree(new)
    with ExitStack() as undo:
        if not target.exists():
            new.replace(target)
            undo.callback(target.replace, new)
        elif _exchange(new, target):
            undo.callback(_exchange, new, target)
        elif new.is_file() and target.is_file():
            new.replace(target)
        else:
            target.rename(aside)
            undo.callback(aside.rename, target)
            new.rename(target)
            undo.callback(target.rename, new)
        sync_folder(target.parent)
        undo.pop_all()
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
