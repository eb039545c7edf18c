"""Find files that do not belong to what is about to be replaced or removed."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ranklet.runtime.ground.errors import RankletError

_SHOWN = 3  # names that a message has
# What file managers put into every folder that somebody looks at.
_OF_THE_SYSTEM = (".DS_Store", "Thumbs.db", "desktop.ini")


def files_in(folder: Path) -> list[str]:
    """Return the relative POSIX paths of everything in a folder except folders, sorted."""
    return sorted(
        each.relative_to(folder).as_posix()
        for each in folder.rglob("*")
        if each.is_symlink() or not each.is_dir()
    )


def strangers(names: Iterable[str], belongs: Callable[[str], bool]) -> str:
    """Return in words which files do not belong, "" if all do.

    >>> strangers(["a.npy", "src/b.js", "c", "d", "e"], lambda name: name.endswith(".npy"))
    "'src/b.js', 'c', 'd' and 1 more"
    """
    found = [
        name
        for name in names
        if name.rpartition("/")[2] not in _OF_THE_SYSTEM and not belongs(name)
    ]
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return ", ".join(repr(name[:200]) for name in found[:_SHOWN]) + more


def refuse_strangers(
    path: Path, names: Iterable[str], belongs: Callable[[str], bool], what: str,
    error: type[RankletError],
) -> None:  # fmt: skip
    """Raise an error if what is about to be replaced holds files that do not belong to it."""
    if others := strangers(names, belongs):
        raise error(
            f"{str(path)!r} holds files that are not of its {what}, and would be lost: {others}; "
            "move them away, or choose another name"
        )


def matching(*patterns: str) -> Callable[[str], bool]:
    """Return a function that says whether a name has one of some forms, where ``*`` is any text."""
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


def remove_own(folder: Path, belongs: Callable[[str], bool]) -> None:
    """Remove a folder, unless it has a file that does not belong to it."""
    import shutil  # not a cost of opening a bundle

    if folder.is_dir() and not folder.is_symlink() and not strangers(files_in(folder), belongs):
        shutil.rmtree(folder, ignore_errors=True)
