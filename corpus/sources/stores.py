"""Read documents with their vectors from the folders of Chroma and LanceDB.

Their own packages read them, Chroma's from a copy, because it may write. A document of Chroma has
the fields ``id``, ``text`` and ``vector`` beside its metadata, and one of LanceDB its columns.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qsl, unquote

from ranklet.corpus.collections.opening import Position
from ranklet.corpus.faults import first_line
from ranklet.corpus.sources.cells import Records
from ranklet.corpus.sources.json_files import as_record
from ranklet.runtime.ground.errors import CollectionError, InputError, RankletError

CHROMA, LANCE = "chroma:///", "lance:///"
_CHROMA_FILE = "chroma.sqlite3"
_ROWS = 1_000  # that are read at a time

Rows = Iterator[Mapping[str, Any]]


@dataclass(frozen=True)
class Store:
    """The documents of a collection or a table.

    Attributes:
        path: the folder.
        table: the name; "" for the only one.
        rows: returns the documents.
        are_texts: whether each is a file, which it is not.
        twice: whether they can be read twice.
    """

    path: Path
    table: str
    rows: Callable[[Path, str], Rows]
    are_texts: bool = False
    twice: bool = True

    def position(self) -> Position:
        """Return a position at the beginning; nobody knows how many there are."""
        return Position(0)

    def records(self, position: Position) -> Records:  # noqa: ARG002
        """Yield the documents.

        Raises:
            CollectionError: the folder cannot be read.
            InputError: there is no such table, or there are several.
            MissingPackageError: its package is not installed.
        """
        try:
            for number, row in enumerate(self.rows(self.path, self.table)):
                yield as_record(f"{self.path}[{number}]", dict(row))
        except (RankletError, ImportError):
            raise
        except Exception as error:  # each package has its own
            raise CollectionError(f"{self.path} cannot be read: {first_line(error)}") from error


def open_store(given: str) -> Store | None:
    """Return the store that an address or a folder is; None if it is none.

    >>> open_store("chroma:///notes?collection=a").table, open_store("texts")
    ('a', None)

    Raises:
        InputError: the address has something else behind its question mark.
    """
    for scheme, key, rows in ((CHROMA, "collection", _of_chroma), (LANCE, "table", _of_lance)):
        if given.startswith(scheme):
            place, _, query = given.removeprefix(scheme).partition("?")
            named = dict(parse_qsl(query, keep_blank_values=True))
            if not place or named.keys() - {key}:
                raise InputError(
                    f"{given!r:.200} is no such address; give {scheme}FOLDER?{key}=NAME"
                )
            return Store(Path(unquote(place)), named.get(key, ""), rows)
    path = Path(given)
    if isfile(path / _CHROMA_FILE):  # noqa: PTH113  # False of a name that no file can have
        return Store(path, "", _of_chroma)
    if path.suffix == ".lance" and isdir(path):  # noqa: PTH112
        return Store(path.parent, path.stem, _of_lance)
    return None


def _of_chroma(path: Path, name: str) -> Rows:
    import chromadb
    from chromadb.config import Settings

    if not (path / _CHROMA_FILE).is_file():
        raise CollectionError(f"{path} has no {_CHROMA_FILE}, so it is no folder of Chroma")
    with TemporaryDirectory() as folder:
        copy = shutil.copytree(path, Path(folder) / "copy")
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(copy), settings)
        chosen = _choose(name, [each.name for each in client.list_collections()], path)
        held = client.get_collection(chosen, embedding_function=None)
        for begin in range(0, held.count(), _ROWS):
            found = held.get(
                limit=_ROWS, offset=begin, include=["documents", "embeddings", "metadatas"]
            )
            columns = (found[each] for each in ("ids", "documents", "embeddings", "metadatas"))
            for id_, text, vector, metadata in zip(*columns, strict=True):
                yield {**(metadata or {}), "id": id_, "text": text, "vector": vector}


def _of_lance(path: Path, name: str) -> Rows:
    import lancedb

    if not path.is_dir():
        raise CollectionError(f"{path} is no folder")
    names = [each.stem for each in path.glob("*.lance")]
    table = lancedb.connect(path).open_table(_choose(name, names, path))
    for batch in table.to_arrow().to_batches(max_chunksize=_ROWS):
        yield from batch.to_pylist()


def _choose(name: str, names: list[str], path: Path) -> str:
    """Return a name that there is, or the only one."""
    if name in names or (not name and len(names) == 1):
        return name or names[0]
    raise InputError(
        f"{path} has {', '.join(map(repr, sorted(names)[:12])) or 'nothing'}; name one of them by "
        f"{CHROMA}FOLDER?collection=NAME or {LANCE}FOLDER?table=NAME"
    )
