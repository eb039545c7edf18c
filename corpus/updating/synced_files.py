"""The list beside a bundle, NAME.sync.json, of the files that it was synced with."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from pathlib import Path
from time import time_ns
from typing import NamedTuple

from ranklet.corpus.sources.cells import Bad
from ranklet.corpus.sources.paths import Files
from ranklet.runtime.writing.atomic_file import atomic_file

STATE = ".sync.json"  # ends the name of the list, which begins with the bundle's
TICK = 2_000_000_000  # ns, the longest tick of a file system's clock


class Seen(NamedTuple):
    """A file as it was when it was last read."""

    size: int
    written: int  # ns; 0 if a later change within the same tick might go unseen
    changed: int  # ns; a copy that keeps the other time has another one
    inode: int
    sha256: str
    fault: str = ""  # why some of it cannot be read


UNREAD = Seen(0, 0, 0, 0, "")  # a file that could not be read


@dataclass(frozen=True)
class Synced:
    """The files of a folder that a bundle was synced with.

    Attributes:
        version: the version of the bundle that has what was read.
        options: how the files were read.
        files: by their paths below the folder; None for one that is gone.
        mounts: paths of folders below it that had another file system.
    """

    version: str = ""
    options: str = ""
    files: Mapping[str, Seen | None] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()


def list_path(bundle: str | os.PathLike[str]) -> Path:
    """Return the path of the list."""
    path = Path(bundle)
    return path.with_name(f"{path.name}{STATE}")


def read_list(path: Path) -> dict[str, Synced]:
    """Return what a bundle was synced with, by folder; nothing if the list is damaged."""
    with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
        return {
            folder: Synced(
                str(raw["version"]), str(raw["options"]),
                {name: seen and Seen(*seen) for name, seen in raw["files"].items()},
                tuple(raw["mounts"]),
            )
            for folder, raw in json.loads(path.read_text("utf-8")).items()
        }  # fmt: skip
    return {}


def write_list(path: Path, synced: Mapping[str, Synced]) -> None:
    """Write what a bundle was synced with, by folder, unless the list says so already."""
    if synced != read_list(path):
        with atomic_file(path) as file:
            file.write(json.dumps({name: asdict(each) for name, each in synced.items()}).encode())


def see_files(
    files: Files, before: Mapping[str, Seen | None]
) -> tuple[dict[str, Seen], dict[str, Bad]]:
    """Return the files of a folder as they are, and those that cannot be read, by their paths.

    Args:
        files: the files.
        before: as they were; they are read again only if size, times or inode have changed.
    """
    seen, unreadable, now = dict[str, Seen](), dict[str, Bad](), time_ns()
    for path in files.paths:
        name = path.relative_to(files.folder).as_posix()
        try:
            seen[name] = _see(path, before.get(name), now)
        except OSError as error:
            unreadable[name] = Bad(str(path), "broken", f"cannot be read ({error.strerror})")
    return seen, unreadable


def _see(path: Path, known: Seen | None, now: int) -> Seen:
    found = path.stat()
    late = max(found.st_mtime_ns, found.st_ctime_ns) > now - TICK
    state = Seen(
        found.st_size, 0 if late else found.st_mtime_ns, found.st_ctime_ns, found.st_ino, ""
    )
    if known and not late and known[:4] == state[:4]:
        return known
    with path.open("rb") as file:
        return state._replace(sha256=file_digest(file, "sha256").hexdigest())


def find_mounts(files: Files) -> set[str]:
    """Return the folders below the one of some files on which another file system is mounted."""
    below = {name for path in files.paths for name in path.relative_to(files.folder).parents}
    return {each.as_posix() for each in below if each.name and os.path.ismount(files.folder / each)}


def find_hidden(
    files: Files, names: Iterable[str], mounts: Iterable[str]
) -> tuple[set[str], dict[str, Bad]]:
    """Return which files are only hidden, not gone, and what hides them, by its path.

    Args:
        files: the files of the folder that are there.
        names: other files that once were there.
        mounts: folders below it that had another file system.
    """
    root = files.folder
    why = {Path(each.place).relative_to(root).as_posix(): each for each in files.unreadable}
    why |= {
        each: Bad(
            str(root / each), "broken",
            "is empty, and not mounted any more; remove it if its files are gone",
        )
        for each in mounts
        if _is_unmounted(root / each, files.paths)
    }  # fmt: skip
    hidden = {name for name in names if any(each.as_posix() in why for each in Path(name).parents)}
    for name in names:
        try:
            (root / name).stat()
        except OSError as error:
            absent = isinstance(error, FileNotFoundError | NotADirectoryError)
            if name not in hidden and not (absent and not (root / name).is_symlink()):
                hidden.add(name)
                found = "is a link to nothing" if absent else f"cannot be read ({error.strerror})"
                why[name] = Bad(str(root / name), "broken", found)
    return hidden, why


def _is_unmounted(place: Path, paths: Iterable[Path]) -> bool:
    """Return whether a folder, which had another file system, is there without it and empty."""
    there = place.is_dir() and not os.path.ismount(place)
    return there and not any(place in path.parents for path in paths)
