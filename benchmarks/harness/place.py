"""Where collections are found and built things are kept."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.harness.code_digest import code_digest
from ranklet.corpus.collections.collection import Collection

ROOT = Path(__file__).resolve().parents[2]
DATA_VARIABLE = "RANKLET_DATA"
# What a kept bundle depends on: the code that makes it and the classes that it is made of.
CODE = (
    "corpus", "training", "export", "src/ranklet/workflows", "runtime/text", "runtime/lexical",
    "runtime/rankers",
)  # fmt: skip


class MissingDataError(Exception):
    """A collection that a benchmark needs is not on this machine."""


@dataclass(frozen=True)
class Place:
    """The folders of one run.

    Attributes:
        data: the collections, a folder each.
        work: what is built, kept between runs for as long as what it depends on is the same.
    """

    data: Path
    work: Path

    def collection(self, name: str) -> Collection:
        """Open a collection.

        Raises:
            MissingDataError: it is not there.
        """
        if not (self.data / name).is_dir():
            raise MissingDataError(
                f"the collection {name} is not in the data folder (set {DATA_VARIABLE} to the "
                "folder that has it)"
            )
        return Collection(self.data / name)

    def keep(
        self,
        name: str,
        build: Callable[[Path], object],
        code: tuple[str, ...] = CODE,
        given: str = "",
    ) -> Path:
        """Return the path of a built thing; build it where it is missing or out of date.

        Args:
            name: of a file or folder, in the work folder.
            build: makes it at a path.
            code: files and folders of code that it depends on.
            given: what else it depends on, such as options or the digest of a part.
        """
        path, stamp = self.work / name, self.work / f"{name}.stamp"
        if self.has(name, code, given):
            return path
        stamp.unlink(missing_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        print(f"building {name} …", file=sys.stderr)
        build(path)
        stamp.write_text(_key(code, given))
        return path

    def has(self, name: str, code: tuple[str, ...] = CODE, given: str = "") -> bool:
        """Return whether a thing is built and up to date; see `keep`."""
        path, stamp = self.work / name, self.work / f"{name}.stamp"
        return path.exists() and stamp.is_file() and stamp.read_text() == _key(code, given)

    def state(self, name: str, code: tuple[str, ...]) -> Path:
        """Return the folder for the state of a training that makes a thing, of this code only."""
        return self.work / f"{name}.{_digest(code)[:16]}.state"


def default_data() -> Path:
    """Return the folder of RANKLET_DATA, else ../shared/data next to the repository."""
    return Path(os.environ.get(DATA_VARIABLE) or ROOT.parent / "shared" / "data")


def _key(code: tuple[str, ...], given: str) -> str:
    return f"{_digest(code)} {given}".strip()


@cache
def _digest(code: tuple[str, ...]) -> str:
    """Return the digest of the code that a built thing depends on."""
    paths: set[Path] = set()
    for name in code:
        here = ROOT / name
        if not here.exists():  # a name that matches nothing would keep what it no longer fits
            raise FileNotFoundError(f"{name} is no file or folder of the code; was it moved?")
        paths.update([here] if here.is_file() else here.rglob("*.py"))
    return code_digest(paths)
