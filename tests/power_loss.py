"""What is left of some files if the power is lost: what was synced, and perhaps names.

A file's content is on the disk when it is synced, and the names in a folder when the folder is.
What a system does on its own before that is not known, so three disks are simulated at a time.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any
from unittest.mock import patch

Image = dict[str, bytes | None]  # content by path; None for a folder
CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link")


class Names(Enum):
    """Which names of a folder are on the disk besides those that were synced."""

    SYNCED = auto()  # no others
    REMOVED = auto()  # nor those that were removed since
    NOW = auto()  # all as they are, with contents that were not synced


class Disk:
    """A folder on a disk whose power may be lost.

    Args:
        root: the folder, which is on the disk as it is now.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.RLock()
        self._contents: dict[int, bytes] = {}  # by inode
        self._names: dict[int, dict[str, int]] = {}
        self._open: dict[int, int] = {}  # descriptors, so that no inode is used for another file
        for path in (root, *root.rglob("*")):
            self._settle(os.open(path, os.O_RDONLY))

    def close(self) -> None:
        """Let all files go."""
        for descriptor in self._open.values():
            os.close(descriptor)

    @contextmanager
    def watched(self, step: Callable[[], None]) -> Iterator[None]:
        """Call a function before each change of a name or a file, and after each sync."""
        busy, real = threading.local(), os.fsync

        def once() -> None:
            if not getattr(busy, "now", False):
                busy.now = True
                try:
                    with self._lock:
                        step()
                finally:
                    busy.now = False

        def sync(descriptor: int) -> None:
            real(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if path.is_relative_to(self.root):
                with self._lock:
                    self._settle(os.dup(descriptor))
                once()

        watching = True

        def audit(event: str, arguments: Any) -> None:
            reads = event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)
            known = watching and event in CHANGES and not reads
            if known and str(self.root) in str(arguments[0]):
                once()

        sys.addaudithook(audit)  # which can never be removed
        try:
            with patch.object(os, "fsync", sync):
                yield
        finally:
            watching = False

    def left(self, names: Names) -> Image:
        """Return what is left if the power is lost now, by paths below the root."""
        return dict(self._left(self.root, self.root.stat().st_ino, "", names))

    def _left(
        self, now: Path, inode: int, begin: str, names: Names
    ) -> Iterator[tuple[str, bytes | None]]:
        there = {each.name: each.inode() for each in os.scandir(now)} if now.is_dir() else {}
        synced = self._names.get(inode, {})
        if names is Names.REMOVED:
            synced = {name: number for name, number in synced.items() if name in there}
        for name, number in (there if names is Names.NOW else synced).items():
            path = now / name
            is_there = there.get(name) == number
            if number in self._names or (is_there and path.is_dir()):
                yield begin + name, None
                yield from self._left(path, number, f"{begin}{name}/", names)
            else:
                lost = path.read_bytes() if is_there else b""
                yield begin + name, self._contents.get(number, lost[: len(lost) // 2])

    def _settle(self, descriptor: int) -> None:
        """Note that a file, or the names in a folder, are on the disk as they are now."""
        inode, path = os.fstat(descriptor).st_ino, Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_dir():
            self._names[inode] = {each.name: each.inode() for each in os.scandir(path)}
        else:
            self._contents[inode] = Path(f"/proc/self/fd/{descriptor}").read_bytes()
        if inode in self._open:
            os.close(descriptor)
        else:
            self._open[inode] = descriptor


def written(image: Image, folder: Path) -> None:
    """Write what is left into a folder."""
    folder.mkdir(parents=True)
    for name, content in image.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
