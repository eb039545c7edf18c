"""Files and arrays, such as those on object storage, whose parts are fetched when they are read.

A `BlockArray` stands for a numpy array. Rows that are taken by their numbers or by a slice are
fetched first. Whatever else is done with it fetches the whole array, so no number is ever read that
did not arrive. Each fetch waits for the network once, however many rows it is for. So code that
reads many rows calls `fetch_rows` for all of them before.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.ground.sets import distinct

SMALL = 1 << 18  # bytes; a file of at most this size is always fetched whole

# Rows of an array, from the first ones to the ones before the second ones, each (spans,) int64.
Spans = tuple["BlockArray", NDArray[np.int64], NDArray[np.int64]]


class Source(Protocol):
    """An object of which parts can be fetched."""

    @property
    def data(self) -> memoryview:
        """The whole object; parts that were not fetched hold anything."""

    def holds(self, begin: int, end: int) -> bool:
        """Return whether a part is there."""

    def fetch(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Fetch the bytes from each of `begins` to before each of `ends`, all at once."""

    def arrived(self, begin: int, end: int) -> bool:
        """Return whether a part came over the network since the object was opened."""

    def forget(self, begin: int, end: int) -> None:
        """Drop a part, because it is wrong."""


class AbsentFile:
    """A file of a bundle whose parts are fetched when they are read.

    Args:
        source: holds the file.
        begin: where it begins there.
        size: the file's size in bytes.
        name: the file's name, for messages.
    """

    def __init__(self, source: Source, begin: int, size: int, name: str) -> None:
        self.source, self.begin, self.size, self.name = source, begin, size, name
        self._whole = False

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> memoryview:
        begin, end, _ = part.indices(self.size)
        where = self.begin + begin, self.begin + max(begin, end)
        self.source.fetch(*(np.array([each], np.int64) for each in where))
        return self.source.data[slice(*where)]

    def whole(self, sha256: str, *, compare: bool = False) -> memoryview:
        """Return the whole file; what came over the network is compared with its sha256.

        Args:
            sha256: the file's sha256.
            compare: whether what was in the cache is compared, too.

        Raises:
            BundleError: it differs.
        """
        from hashlib import sha256 as digest

        data, end = self[:], self.begin + self.size
        compare = compare or (not self._whole and self.source.arrived(self.begin, end))
        if compare and digest(data).hexdigest() != sha256:
            self.source.forget(self.begin, end)
            raise BundleError(f"{self.name} arrived changed, because its sha256 differs")
        self._whole = True
        return data

    def array(self, begin: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> "BlockArray":
        """Return the array whose numbers begin at a byte of the file."""
        return BlockArray(self.source, self.begin + begin, dtype, shape)


class BlockArray(NDArrayOperatorsMixin):
    """An array whose rows are fetched when they are read; shared by all threads.

    Args:
        source: holds its numbers.
        begin: the byte at which they begin there.
        dtype: the type of a number.
        shape: (rows, …).
    """

    def __init__(
        self, source: Source, begin: int, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        self.source, self.begin, self.dtype, self.shape = source, begin, dtype, shape
        self.size, self.ndim = int(np.prod(shape, dtype=np.int64)), len(shape)
        self.nbytes = self.size * dtype.itemsize
        # Numbers that were not fetched hold anything here, so it is read after a fetch only.
        self.mapped = np.frombuffer(source.data, dtype, self.size, begin).reshape(shape)
        self._row = self.nbytes // shape[0] if shape[0] else 0  # bytes
        self._complete = False

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.whole())

    def __getitem__(self, key: Any) -> Any:
        rows = key[0] if isinstance(key, tuple) and key else key
        if not self._complete:
            self._need(rows)
        return self.mapped[key]

    def _need(self, rows: Any) -> None:
        """Fetch the rows of a key, or all rows unless it is a row number or a slice."""
        count = self.shape[0]
        if isinstance(rows, slice) and rows.step in (None, 1):
            begin, end, _ = rows.indices(count)
            self._need_span(begin, max(begin, end))
        elif isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            begin = int(rows) + (count if rows < 0 else 0)
            self._need_span(begin, begin + 1)
        elif isinstance(rows, np.ndarray) and rows.dtype.kind in "iu":
            numbers = rows.astype(np.int64).ravel()
            numbers = np.where(numbers < 0, numbers + count, numbers)
            fetch((self, numbers, numbers + 1))
        else:
            self.whole()

    def _need_span(self, begin: int, end: int) -> None:
        """Fetch some rows unless they are there, which is found out in two microseconds."""
        inside = 0 <= begin <= end <= self.shape[0]
        if inside and self.source.holds(
            self.begin + begin * self._row, self.begin + end * self._row
        ):
            return
        fetch((self, np.array([begin], np.int64), np.array([end], np.int64)))

    def places(
        self, begins: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bytes of rows, from each row in `begins` to before the row in `ends`.

        Raises:
            IndexError: a row is past the last one.
            BundleError: a part ends before it begins.
        """
        if len(begins) and (begins.min() < 0 or ends.max() > len(self)):
            raise IndexError(f"a row is outside of the {len(self):,} of an array")
        if (begins > ends).any():
            raise damaged("offsets decrease")
        return self.begin + begins * self._row, self.begin + ends * self._row

    def whole(self) -> NDArray[Any]:
        """Fetch all of it and return it as an array of numpy, mapped."""
        if not self._complete:
            fetch((self, np.zeros(1, np.int64), np.array([len(self)], np.int64)))
            self._complete = True
        return self.mapped

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all numbers, for functions of numpy."""
        whole = self.whole()
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return whole.astype(dtype)
        return whole.copy() if copy else whole

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of numpy to all numbers."""
        plain = [each.whole() if isinstance(each, BlockArray) else each for each in inputs]
        return getattr(function, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the numpy array, after fetching all of it."""
        if name.startswith("_") or name in ("source", "mapped"):
            raise AttributeError(name)
        return getattr(self.whole(), name)


def as_absent(array: object) -> BlockArray | None:
    """Return an array if parts of it may have to be fetched, otherwise None."""
    return array if isinstance(array, BlockArray) else None


def is_absent(array: object) -> bool:
    """Return whether parts of an array may have to be fetched."""
    return isinstance(array, BlockArray)


def mapped(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numpy without fetching anything; read only rows that were fetched."""
    absent = as_absent(array)
    return array if absent is None else absent.mapped


def fetch(*spans: Spans) -> None:
    """Fetch rows of several arrays at once."""
    by_source: dict[int, tuple[Source, list[NDArray[np.int64]], list[NDArray[np.int64]]]] = {}
    for array, begins, ends in spans:
        _, firsts, lasts = by_source.setdefault(id(array.source), (array.source, [], []))
        for places, found in zip(array.places(begins, ends), (firsts, lasts), strict=True):
            found.append(places)
    for source, firsts, lasts in by_source.values():
        source.fetch(np.concatenate(firsts), np.concatenate(lasts))


def fetch_files(files: Sequence[AbsentFile]) -> None:
    """Fetch several files of one source at once."""
    if files:
        begins = np.array([each.begin for each in files], np.int64)
        files[0].source.fetch(begins, begins + np.array([each.size for each in files], np.int64))


def fetch_whole(*arrays: NDArray[Any]) -> None:
    """Fetch several arrays at once; arrays of numpy need no fetching."""
    first = np.zeros(1, np.int64)
    absent = [found for array in arrays if (found := as_absent(array)) is not None]
    fetch(*((each, first, np.array([len(each)], np.int64)) for each in absent))


def fetch_rows(
    numbers: Iterable[int] | NDArray[np.integer],
    *,
    plain: Sequence[NDArray[Any]] = (),
    ragged: Sequence[Sequence[NDArray[Any]]] = (),
) -> None:
    """Fetch the same rows of several arrays, in two rounds at most.

    Args:
        numbers: the rows' numbers.
        plain: arrays with one row per number.
        ragged: offsets, (rows + 1,) int64, and the arrays that they cut into rows.

    Raises:
        IndexError: a number is past the last row.
        BundleError: offsets decrease, or lead past the end of an array.
    """
    if not any(map(is_absent, (*plain, *chain.from_iterable(ragged)))):
        return
    rows = distinct(np.array(list(numbers), np.int64))
    if not len(rows):
        return
    wanted = [(each, 1) for each in plain] + [(arrays[0], 2) for arrays in ragged]
    fetch(
        *(
            (remote, rows, rows + count)
            for array, count in wanted
            if (remote := as_absent(array)) is not None
        )
    )
    second: list[Spans] = []
    for offsets, *columns in ragged:
        begins, ends = (mapped(offsets)[each].astype(np.int64) for each in (rows, rows + 1))
        absent = (remote for column in columns if (remote := as_absent(column)) is not None)
        second += [(each, begins, ends) for each in absent]
    try:
        fetch(*second)
    except IndexError as error:
        raise damaged("offsets lead past the end of an array") from error
