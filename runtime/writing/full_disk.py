"""Say which disk is full and what to do, in place of an error of the system."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from ranklet.runtime.ground.errors import BundleError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no space, a quota, the largest file allowed


@contextmanager
def full_disk_told(path: Path, *, every: bool = False) -> Iterator[None]:
    """Raise BundleError if the disk is full while something is written inside of the block.

    Args:
        path: what is written, for the message.
        every: whether other errors of the system are told, too; they may be those of a reader.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise BundleError(
                f"{str(path)!r} cannot be written, because a disk is full ({error.strerror}); it "
                f"is as it was. Free some space there, or where temporary files are{_temporary()}, "
                "and do the same again"
            ) from error
        if not every:
            raise
        raise BundleError(f"{str(path)!r} cannot be written: {error}; it is as it was") from error


def _temporary() -> str:
    try:
        return f", in {gettempdir()!r}"
    except OSError:  # it is looked for by writing to it
        return ""
