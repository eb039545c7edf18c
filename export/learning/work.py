"""The folder ``TARGET.learn``, in which an interrupted run finds what it has made."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.progress import say
from ranklet.runtime.errors import InputError
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import check_private
from ranklet.training.checkpoint import Checkpoint, read_checkpoint

STAMP = "learn.json"  # says that the folder is ours, and what it was made of


class Work:
    """What is made on the way to a bundle, kept until that is written.

    Args:
        target: the bundle.
        digest: of all that is learned from. A folder of another digest is emptied.

    Raises:
        InputError: the folder holds something else.
    """

    def __init__(self, target: Path, digest: str) -> None:
        self.folder = target.with_name(f"{target.name}.learn")
        self._digest = digest

    def __enter__(self) -> Self:
        check_private(self.folder, "choose another output")
        stamp = self.folder / STAMP
        if self.folder.exists() and any(self.folder.iterdir()):
            if not stamp.is_file():
                raise InputError(
                    f"{str(self.folder)!r} holds files that `ranklet learn` has not made; move it "
                    "away, or choose another output"
                )
            if stamp.read_bytes() != self._digest.encode():  # another one, or half of one
                shutil.rmtree(self.folder)
            else:
                say(f"going on with what is in {self.folder}")
        self.folder.mkdir(exist_ok=True, parents=True)
        stamp.write_text(self._digest, "utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif kind is KeyboardInterrupt:
            say(f"the same command goes on with what is in {self.folder}")

    def place(self, name: str) -> Path:
        """Return the path of a checkpoint."""
        return self.folder / f"{name}.checkpoint"

    def has(self, name: str) -> bool:
        """Return whether a checkpoint was made."""
        return self.place(name).is_dir()

    def made(self, name: str) -> Checkpoint:
        """Return a checkpoint that was made."""
        return read_checkpoint(self.place(name))

    def checkpoint(self, name: str, make: Callable[[], Checkpoint]) -> Checkpoint:
        """Return a checkpoint, which is made once."""
        if not self.has(name):
            make().save(self.place(name))
            shutil.rmtree(self.folder / f"{name}.run", ignore_errors=True)
        return self.made(name)

    def number(self, name: str, make: Callable[[], int]) -> int:
        """Return a number, which is made once, so that what goes on is what was begun."""
        path = self.folder / f"{name}.json"
        if not path.is_file():
            with atomic_file(path) as file:
                file.write(json.dumps(make()).encode())
        number: int = json.loads(path.read_text("utf-8"))
        return number

    def bundle(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return the path of a bundle, which is made once."""
        path = self.folder / f"{name}.ranklet"
        if not path.is_dir():
            make(path)
        return path

    def collection(
        self,
        documents: Callable[[], Iterable[Document]],
        splits: Mapping[str, Sequence[JudgedQuery]],
    ) -> Collection:
        """Return a collection of documents and judged queries, which is written once."""
        path = self.folder / "collection"
        if not path.is_dir():
            judged = {
                name: (
                    [Query(each.id, each.text) for each in queries],
                    {each.id: each.relevant for each in queries},
                )
                for name, queries in splits.items()
                if queries
            }
            return write_collection(path, documents(), judged)
        return Collection(path)
