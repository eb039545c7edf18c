"""The folder ``TARGET.learn``, in which an interrupted run finds what it has made."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.progress import say
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.locks import locked
from ranklet.runtime.writing.private_folder import check_private
from ranklet.runtime.writing.strangers import files_in, matching, remove_own, strangers
from ranklet.training.checkpoint import Checkpoint, read_checkpoint

STAMP = "learn.json"  # says what the folder was made of
# All that is ever in the folder. Names that begin with a dot are of writers that were interrupted.
_OWN = matching(
    STAMP, "*.steps.json", "collection/corpus.*", "collection/queries.*", "collection/qrels*",
    *(f"*.checkpoint/*.{suffix}" for suffix in ("json", "npy", "safetensors", "html")),
    *(f"*.run/*{suffix}" for suffix in (".pt", ".npz", ".npy", ".f16", ".json", ".partial")),
    *(f"*.ranklet*/{each}" for each in (MANIFEST, "documents/*", "metadata/*", "rankers/*",
    "text/*")), ".*.lock*", ".*.partial*", ".*.old-*", ".*.resume/*",
)  # fmt: skip


@contextmanager
def keep_work(target: Path, digest: str) -> "Iterator[Work]":
    """Keep what is made on the way to a bundle until that is written; one process at a time does.

    Args:
        target: the bundle.
        digest: of all that is learned from. What was made of another digest is removed.

    Raises:
        InputError: the folder holds something else.
    """
    folder = target.with_name(f"{target.name}.learn")
    folder.parent.mkdir(exist_ok=True, parents=True)
    with locked(folder):
        _begin(folder, digest)
        try:
            yield Work(folder)
        except KeyboardInterrupt:
            say(f"the same command goes on with what is in {folder}")
            raise
        remove_own(folder, _OWN)
        if folder.exists():
            say(f"{folder} stays, because somebody has put other files there")


def _begin(folder: Path, digest: str) -> None:
    check_private(folder, "choose another output")
    stamp, names = folder / STAMP, files_in(folder) if folder.is_dir() else []
    if others := strangers(names, _OWN if stamp.is_file() else lambda _: False):
        raise InputError(
            f"{str(folder)!r} holds files that `ranklet learn` has not made: {others}; move them "
            "away, or choose another output"
        )
    if names and stamp.read_bytes() == digest.encode():
        say(f"going on with what is in {folder}")
        return
    remove_own(folder, _OWN)  # what another digest, or half of one, has left
    folder.mkdir(exist_ok=True)
    with atomic_file(stamp) as file:
        file.write(digest.encode())


class Work:
    """What is made once on the way to a bundle.

    Attributes:
        folder: where it is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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
