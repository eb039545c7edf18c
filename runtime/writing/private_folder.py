"""Folders that only their user can change, for what is kept on a machine of many users."""

import os
import tempfile
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISVTX

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.address import writable

_OTHERS = 0o022  # the bits by which the group and all others may write
_ALL = 0o002


def private_folder(folder: Path, instead: str) -> Path:
    """Return a folder that only this user can change, made if it is missing.

    Whoever can write to a folder above it could put another in its place. So these must belong to
    this user or to root, and others may only write to those whose entries they cannot rename (as in
    /tmp). The system's temporary folder is trusted, as every program trusts it.

    Args:
        folder: an absolute path.
        instead: what to do if it cannot be used, for messages.

    Raises:
        BundleError: it cannot be made, or others can change it.
    """
    try:
        make_private(folder)
        check_private(folder.resolve(), instead)
        for each in {*folder.parents, *folder.resolve().parents, folder}:
            _check_above(each, instead)
    except (OSError, RuntimeError, ValueError) as error:  # links in a loop, a NUL
        raise BundleError(
            f"the folder {str(folder)!r} cannot be made: {error}; {instead}"
        ) from error
    return folder


def check_private(folder: Path, instead: str) -> None:
    """Raise BundleError if a folder belongs to another user or others can write to it.

    A folder that does not exist is fine, and so is every one on Windows.

    Args:
        folder: where nothing but ours is read.
        instead: what to do if it cannot be used, for the message.
    """
    if os.name == "nt" or not os.path.lexists(folder):
        return
    status = folder.stat()
    if not S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & _OTHERS:
        raise _refused(folder, instead)


def make_private(folder: Path) -> None:
    """Make a folder and those above it; only this user can read and write what is new.

    Raises:
        InputError: it is an address.
        OSError: that is impossible.
    """
    writable(folder)
    for each in reversed((folder, *folder.parents)):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def _check_above(folder: Path, instead: str) -> None:
    """Raise BundleError if others could put something else in the place of what is in a folder."""
    status = folder.lstat()
    if S_ISLNK(status.st_mode):  # where it leads to is looked at, too
        if status.st_uid not in (0, os.getuid()):
            raise _refused(folder, instead)
    elif folder != Path(tempfile.gettempdir()):
        shared = status.st_mode & (_ALL if _is_own_group(status) else _OTHERS)
        if status.st_uid not in (0, os.getuid()) or (shared and not status.st_mode & S_ISVTX):
            raise _refused(folder, instead)


def _is_own_group(status: os.stat_result) -> bool:
    """Return whether a group has only this user; many systems make such a group for each user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(status.st_gid)
    except KeyError:  # a number without a name
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _refused(folder: Path, instead: str) -> BundleError:
    return BundleError(
        f"{str(folder)!r} belongs to another user, or others can write to it, so what is read from "
        f"there may be theirs; run `chmod go-w` on it if it is yours, or {instead}"
    )
