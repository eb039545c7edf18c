"""Remove what killed writers left next to a folder or zip, and keep what living writers need.

A writer holds a lock on a file ``.NAME.lock-TOKEN`` as long as its process lives. All else that it
puts next to the target has the same token in its name, so whoever gets the lock knows that the
writer is dead and that the rest may be removed.
"""

import gc
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import IO

from ranklet.runtime.writing.locks import try_lock

_LOCK = "lock"
_PARTIAL = "partial"  # the new bundle as long as it is written
_OLD = "old"  # the old bundle between two renames
_TOKEN = re.compile(r"[0-9a-f]{8}")


class Claim:
    """The names that one writer uses next to its target, claimed until `release` or its death.

    Args:
        target: where the bundle will be, an absolute path in a folder that exists.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        while True:
            self._token = secrets.token_hex(4)
            self._lock = self._hidden(_LOCK)
            self._file: IO[bytes] | None = self._lock.open("xb")
            try_lock(self._file)
            if self._lock.exists():
                return
            self._file.close()  # somebody cleaned up between the two calls, so it is not ours

    @property
    def partial(self) -> Path:
        """Where the new bundle is written."""
        return self._hidden(_PARTIAL)

    @property
    def old(self) -> Path:
        """Where the old bundle waits if two renames replace it."""
        return self._hidden(_OLD)

    def release(self) -> None:
        """Remove all that has these names; harmless if it is called again."""
        file, self._file = self._file, None
        if file is None:
            return
        remove(self.partial)
        with file:
            _unlink(self._lock)  # before the lock ends, so that nobody finds it without an owner
        _unlink(self._lock)  # where an open file cannot be removed

    def _hidden(self, role: str) -> Path:
        return self._target.with_name(_hidden_name(self._target, role, self._token))


def clean_up(target: Path) -> None:
    """Undo what dead writers of a bundle left behind.

    If one died between the two renames that replace a bundle, the old bundle is put back. Leftovers
    of a writer that runs stay, and so do those without a lock file, whose writer nobody can know.

    Args:
        target: where the bundle is or was, an absolute path.
    """
    prefix = _hidden_name(target, _LOCK, "")
    try:
        names = [each.name for each in target.parent.iterdir() if each.name.startswith(prefix)]
    except OSError:  # no such folder, or it cannot be read
        return
    for name in names:
        token = name.removeprefix(prefix)
        if _TOKEN.fullmatch(token):
            _clean_up_after(target, token)


def _clean_up_after(target: Path, token: str) -> None:
    lock = target.with_name(_hidden_name(target, _LOCK, token))
    try:
        file = lock.open("r+b")
    except OSError:  # its writer has ended meanwhile, or it belongs to somebody else
        return
    with file:
        if not try_lock(file):
            gc.collect()  # an interrupted writer may be left in a ring of references
            if not try_lock(file):
                return
        old = target.with_name(_hidden_name(target, _OLD, token))
        if os.path.lexists(old) and not os.path.lexists(target):
            try:
                old.rename(target)
            except OSError:  # nothing is removed as long as this is the only bundle
                return
        remove(old)
        remove(target.with_name(_hidden_name(target, _PARTIAL, token)))
        remove(target.with_name(_hidden_name(target, _PARTIAL, token) + ".zip"))
        _unlink(lock)
    _unlink(lock)  # where an open file cannot be removed


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there and can be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        _unlink(path)


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # it may be open on Windows, or have become somebody else's
        return


def _hidden_name(target: Path, role: str, token: str) -> str:
    return f".{target.name}.{role}-{token}"
