"""Vectors of documents that somebody else has computed, each beside the document that it is of."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.faults import first_line
from ranklet.corpus.sources.cells import Bad, as_id
from ranklet.corpus.sources.columns import IDS
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import list_source_files
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.text.ranked import ranked_text

Encode = Callable[[list[str]], Any]  # returns (texts, dimension)
# A column's name or a file; an array, a row per document; vectors by id; or what encodes texts.
Vectors = str | Path | Sequence[Any] | NDArray[Any] | Mapping[str, Any] | Encode

BLOCK = 256  # texts that are encoded at a time
COLUMN = "vector"  # of documents that are added, unless the bundle was built of another one
_LEAST, _MOST = 1e-15, 1e15  # of lengths, whose squares have 32 bits


class GivenVectors:
    """What has a vector of every document.

    Args:
        given: see `Vectors`.
        dimension: of all vectors; 0 for that of the first one.

    Attributes:
        column: the name of the column, "" if it is none.
        dimension: of all vectors; 0 until one was read.

    Raises:
        InputError: a file cannot be read, or an array has not two dimensions.
    """

    def __init__(self, given: Vectors, dimension: int = 0) -> None:
        self.column, self.dimension = "", dimension
        self._rows: Any = None
        self._by_id: Mapping[str, Any] | None = None
        self.encode: Encode | None = None
        if isinstance(given, Path) or (isinstance(given, str) and Path(given).suffix in _FILES):
            path = Path(given)
            read = _FILES[path.suffix](path) if path.suffix in _FILES else _open_by_id(path)
            self._rows, self._by_id = (None, read) if isinstance(read, dict) else (read, None)
        elif isinstance(given, str):
            self.column = given
        elif isinstance(given, Mapping):
            self._by_id = given
        elif callable(given):
            self.encode = given
        else:
            self._rows = _as_rows(given)

    @property
    def whole(self) -> bool:
        """Whether a vector is of a whole document, which is not split into passages then."""
        return self.encode is None

    def read(self, number: int, id_: str, fields: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return the vector of a document.

        Args:
            number: the place of its record, from 0.
            id_: its id.
            fields: its fields.

        Raises:
            ValueError: it has none that can be used; the message says why.
        """
        value: Any = None
        if self._rows is not None:
            if number >= len(self._rows):
                raise ValueError(f"there are only {len(self._rows):,} vectors")
            value = self._rows[number]
        elif self._by_id is not None:
            value = self._by_id.get(id_)
        elif self.column in fields:
            value = fields[self.column]
        else:
            raise ValueError(f"it has no {self.column!r:.80}")
        vector = _as_vector(value)
        self.dimension = self.dimension or len(vector)
        check_vector(vector, self.dimension)
        return vector

    def check_count(self, records: int) -> None:
        """Raise CollectionError if there are more vectors than documents."""
        if self._rows is not None and len(self._rows) != records:
            raise CollectionError(
                f"there are {len(self._rows):,} vectors and {records:,} documents; give a row for "
                "each document, in their order"
            )

    def encode_each(self, documents: Iterable[Document], *, titles: bool) -> Iterator[Document]:
        """Yield documents with the vectors that a function makes of their texts.

        Raises:
            InputError: it returned something else than a vector for each text.
        """
        if self.encode is None:
            yield from documents
            return
        waiting = iter(documents)
        while block := list(islice(waiting, BLOCK)):
            texts = [ranked_text(each.title, each.text, titles) for each in block]
            rows = _as_rows(self.encode(texts))
            if len(rows) != len(texts):
                raise InputError(
                    f"the function for vectors returned {len(rows):,} for {len(texts):,} texts; "
                    "let it return one for each"
                )
            for document, row in zip(block, rows, strict=True):
                vector = np.array(row, np.float32)
                self.dimension = self.dimension or len(vector)
                try:
                    check_vector(vector, self.dimension)
                except ValueError as error:
                    raise CollectionError(refusal(document.id, str(error))) from None
                yield document._replace(vector=vector)


def refusal(id_: str, why: str) -> str:
    """Return the message for a document whose vector cannot be used."""
    return f"the document {id_!r:.80} has no vector that can be used: {why}"


def check_vector(vector: NDArray[np.float32], dimension: int) -> None:
    """Raise ValueError unless a vector has a direction and a dimension."""
    if len(vector) != dimension:
        raise ValueError(f"it has {len(vector):,} numbers, and others have {dimension:,}")
    with np.errstate(invalid="ignore"):
        length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length):
        raise ValueError("a number is not finite")
    if not _LEAST < length < _MOST:
        raise ValueError("all numbers are 0" if not length else f"its length is {length:.3g}")


def _as_vector(value: Any) -> NDArray[np.float32]:
    """Return a value as a vector: numbers, their JSON, or the bytes of float32 as SQLite has them.

    Raises:
        ValueError: it is none; the message says why.
    """
    if isinstance(value, str) and "\0" in value:  # bytes that happen to be UTF-8
        value = value.encode()
    if isinstance(value, bytes):
        if not value or len(value) % 4:
            raise ValueError(f"{len(value):,} bytes are no numbers of 32 bits")
        return np.frombuffer(value, "<f4")
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{value!r:.40} is no list of numbers") from None
    if value is None or value in ("", []) if not isinstance(value, np.ndarray) else not value.size:
        raise ValueError("it is missing")
    try:
        missing = isinstance(value, list) and None in value  # a source says so of NaN
        array = np.asarray(value, np.float64 if missing else None)
        if array.dtype.kind not in "fiu" or array.ndim != 1:
            raise ValueError
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r:.40} is no list of numbers") from None


def _as_rows(given: Any) -> Any:
    """Return an array of vectors, or a column of a table, a row per document.

    Raises:
        InputError: it is neither.
    """
    rows = given if isinstance(given, np.ndarray) else getattr(given, "to_numpy", lambda: given)()
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiu" and rows.ndim != 2:
        shape = " × ".join(map(str, rows.shape))
        raise InputError(f"vectors have the shape {shape}; give (documents, dimension)")
    if not isinstance(rows, Sequence | np.ndarray):
        raise InputError(
            f"vectors is a {type(given).__name__}; give a column's name, a file, an array, vectors "
            "by id, or a function of texts"
        )
    return rows


def _open_array(path: Path) -> Any:
    """Return the mapped array of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # of a damaged file, even one of tokens
        raise InputError(
            f"the vectors in {str(path)!r:.200} cannot be read ({first_line(error)})"
        ) from error
    return _as_rows(array)


def _open_faiss(path: Path) -> Any:
    """Return the vectors of a flat index of FAISS, a row per document, or by its ids.

    Raises:
        InputError: it cannot be read, or does not have the vectors as they were given.
    """
    import faiss

    index: Any
    owner: Any
    try:
        owner = index = faiss.read_index(str(path))
    except RuntimeError as error:
        raise InputError(f"the vectors in {str(path)!r:.200} cannot be read") from error
    if has_ids := isinstance(owner, faiss.IndexIDMap):
        index = faiss.downcast_index(owner.index)  # lives as long as its owner
    if not isinstance(index, faiss.IndexFlat):
        raise InputError(
            f"{str(path)!r:.200} is a {type(index).__name__}; only a flat index has the vectors as "
            "they were given"
        )
    rows = index.reconstruct_n(0, index.ntotal)
    if not has_ids:
        return rows
    ids = faiss.vector_to_array(owner.id_map).tolist()
    return dict(zip(map(str, ids), rows, strict=True))


def _open_by_id(path: Path) -> dict[str, Any]:
    """Return the vectors of a file with a column of ids and one of vectors.

    Raises:
        InputError: it has no such columns.
        CollectionError: it cannot be read.
    """
    files, found = list_source_files(path, SourceOptions()), dict[str, Any]()
    for record in files.records(files.position()):
        if isinstance(record, Bad):
            raise CollectionError(f"{record.place}: {record.found}")
        fields = dict(record.fields)
        id_ = next((as_id(fields.pop(name)) for name in IDS if name in fields), None)
        value = (
            fields.get(COLUMN)
            if COLUMN in fields or len(fields) != 1
            else next(iter(fields.values()))
        )
        if id_ is None or value is None:
            raise InputError(f"{record.place} has no column id, or none that is called {COLUMN!r}")
        try:
            found[id_] = _as_vector(value)
        except ValueError as error:
            raise CollectionError(f"{record.place}: {refusal(id_, str(error))}") from None
    return found


_FILES: Mapping[str, Callable[[Path], Any]] = {
    ".npy": _open_array,
    ".faiss": _open_faiss,
    **dict.fromkeys((".jsonl", ".parquet", ".csv", ".tsv", ".json"), _open_by_id),
}
