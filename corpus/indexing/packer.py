"""Pack strings and numbers into files, so that a large collection takes no memory."""

import mmap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.storage.strings import Strings

_STRINGS, _BYTES = 1 << 12, 1 << 20  # strings that wait in memory, and their bytes
_WRITTEN = 16 << 20  # bytes of an array that are written at a time


class Packer:
    """Packs strings one by one into a temporary file, which vanishes with its strings."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 (the mapping outlives any context)
        self._offsets = NumberPacker(np.int64)
        self._offsets.add(np.zeros(1, np.int64))
        self._waiting, self._size = list[bytes](), 0  # strings that are not in the file, and bytes
        self._count = self._end = 0  # of the others

    def __del__(self) -> None:
        # Of a full disk, whose error has ended the packing; or it was interrupted before it began.
        with suppress(OSError, AttributeError):
            self._file.close()

    def __len__(self) -> int:
        return self._count + len(self._waiting)

    def add(self, string: str) -> bytes:
        """Add a string at the end, and return its UTF-8."""
        data = string.encode("utf-8", "replace")  # a lone surrogate must not stop indexing
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= _BYTES or len(self._waiting) >= _STRINGS:
            self._pack()
        return data

    def strings(self) -> Strings:
        """Return the strings, mapped; nothing can be added then."""
        self._pack()
        offsets = self._offsets.array()
        self._file.flush()
        data = np.empty(0, np.uint8)
        if self._end:
            data = np.frombuffer(
                mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8
            )
        self._file.close()
        return Strings(data, offsets)

    def _pack(self) -> None:
        """Write the strings that wait."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        ends = self._end + np.cumsum(np.fromiter(map(len, waiting), np.int64))
        self._file.write(b"".join(waiting))
        self._offsets.add(ends)
        self._count, self._end = self._count + len(waiting), int(ends[-1]) if waiting else self._end


class NumberPacker:
    """Packs arrays end to end into a temporary file, which vanishes with the joined array.

    Args:
        dtype: the type of the arrays' numbers.
        row: the shape of a row.
    """

    def __init__(self, dtype: DTypeLike, row: tuple[int, ...] = ()) -> None:
        self._dtype, self._row = np.dtype(dtype), row
        self._file = TemporaryFile()  # noqa: SIM115 (the mapping outlives any context)

    def __del__(self) -> None:
        # Of a full disk, whose error has ended the packing; or it was interrupted before it began.
        with suppress(OSError, AttributeError):
            self._file.close()

    def add(self, values: NDArray[Any]) -> None:
        """Add rows at the end; their pages are dropped if they are mapped themselves."""
        step = max(1, _WRITTEN // max(1, values[:1].nbytes))
        for begin in range(0, len(values), step):
            part = values[begin : begin + step]
            self._file.write(np.ascontiguousarray(part, self._dtype).data)
            release(part)

    def array(self) -> NDArray[Any]:
        """Return the rows, mapped, (rows, …); nothing can be added then."""
        self._file.flush()
        if not self._file.tell():
            return np.empty((0, *self._row), self._dtype)
        content = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()
        return np.frombuffer(content, self._dtype).reshape(-1, *self._row)


def packed(
    pieces: Iterable[NDArray[Any]], dtype: DTypeLike, row: tuple[int, ...] = ()
) -> NDArray[Any]:
    """Return arrays end to end, (rows, …), in a temporary file that vanishes with the result.

    Args:
        pieces: arrays of the same type, with rows of the same shape.
        dtype: the type of the arrays' numbers.
        row: the shape of a row.
    """
    packer = NumberPacker(dtype, row)
    for piece in pieces:
        packer.add(piece)
    return packer.array()


def spans(
    offsets: NDArray[np.int64], most: int, rows: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield begin and end of blocks of successive rows that are not too large together.

    Args:
        offsets: the numbers of row r are at ``offsets[r]:offsets[r + 1]``, (rows + 1,) int64.
        most: numbers in a block, unless a single row has more.
        rows: rows in a block; None for any number.

    >>> list(spans(np.array([0, 2, 3, 9, 9]), 4)), list(spans(np.array([0, 1, 2]), 4, rows=1))
    ([(0, 2), (2, 3), (3, 4)], [(0, 1), (1, 2)])
    """
    begin, count = 0, len(offsets) - 1
    while begin < count:
        fitting = int(np.searchsorted(offsets, offsets[begin] + most, side="right")) - 1
        end = min(max(fitting, begin + 1), count, begin + (rows or count))
        yield begin, end
        begin = end


def release(values: NDArray[Any]) -> None:
    """Let the system drop the pages of a mapped array, which are read again if they are needed.

    An array in memory is left as it is.
    """
    base: object = values
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
