"""Lock a place that is written, so that one writer at a time reads and replaces what is there.

The lock is one on a file ``.NAME.lock`` next to the place, which ends with its process, and one
among the threads of a process.
"""

import errno
import gc
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Lock, get_ident
from typing import IO
from weakref import WeakValueDictionary

from ranklet.runtime.ground.errors import BusyError, InputError

PAUSE = 0.05  # seconds between two looks at a lock that somebody else holds
_HELD_BY_ANOTHER = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)

# Returns whether nobody waits for a lock any longer; `bool` returns False.
give_up: ContextVar[Callable[[], bool]] = ContextVar("give_up", default=bool)

_log = logging.getLogger(__name__)
_guard = Lock()


class _Hold:
    """A lock file that a thread of this process has locked, as long as anything refers to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.thread = file, get_ident()


# By lock file. An interruption at any place ends the last reference, and the lock with it.
_holds: WeakValueDictionary[Path, _Hold] = WeakValueDictionary()


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the lock of a place; wait as long as another process or thread holds it, or `give_up`.

    A file system without locks only lets the threads of one process wait for each other.

    Args:
        target: what is written, an absolute path in a folder that exists.

    Raises:
        InputError: this thread holds the lock already, so it would wait for itself.
        BusyError: it was given up.
        OSError: the folder cannot be written.
    """
    path = target.with_name(f".{target.name}.lock")
    hold = _acquire(path, target)
    try:
        yield
    finally:
        # Before the lock ends, so that whoever gets it then sees that the file is gone.
        _unlink(path)
        hold.file.close()
        if os.name == "nt":  # where an open file cannot be removed
            _unlink(path)
        with _guard:
            del _holds[path]


@contextmanager
def waiting_at_most(seconds: float) -> Iterator[None]:
    """Let no wait for a lock inside of the block go on after so many seconds from now."""
    until = time.monotonic() + seconds
    token = give_up.set(lambda: time.monotonic() >= until)
    try:
        yield
    finally:
        give_up.reset(token)


def try_lock(file: IO[bytes]) -> bool | None:
    """Lock a file until it is closed or the process ends.

    Returns:
        Whether that was possible; None if this file system knows no locks.
    """
    try:
        try:
            import fcntl
        except ModuleNotFoundError:  # Windows
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _HELD_BY_ANOTHER else None
    return True


def _acquire(path: Path, target: Path) -> _Hold:
    if path in _holds:
        gc.collect()  # an interrupted writer of this process may be left in a ring of references
    waiting = False
    while True:
        with _guard:
            other = _holds.get(path)
            if other is not None and other.thread == get_ident():
                raise InputError(f"{str(target)!r} is being written by this very thread")
            if other is None and (file := _open_locked(path)) is not None:
                hold = _holds[path] = _Hold(file)
                return hold
            del other
        if give_up.get()():
            raise BusyError(
                f"another program writes to {str(target)!r}, and has not ended yet; nothing was "
                "written, so do the same again later"
            )
        if not waiting:
            _log.warning("waiting for another writer of %r", str(target))
        waiting = True
        time.sleep(PAUSE)


def _open_locked(path: Path) -> IO[bytes] | None:
    """Return the locked file; None if somebody else holds it, or has just removed it."""
    file = path.open("ab")
    with suppress(FileNotFoundError):
        if try_lock(file) is not False and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return file
    file.close()
    return None


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
