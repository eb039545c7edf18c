"""Pack strings into files, so that a large collection's texts take no memory."""

import mmap
from array import array
from collections.abc import Iterable
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.text.strings import Strings


class Packer:
    """Packs strings one by one into a temporary file, which vanishes with its strings."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 (the mapping outlives any context)
        self._offsets = array("q", [0])

    def __del__(self) -> None:
        self._file.close()  # without a warning if an error has ended the reading

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def add(self, string: str) -> None:
        """Add a string at the end."""
        data = string.encode("utf-8", "replace")  # a lone surrogate must not stop indexing
        self._file.write(data)
        self._offsets.append(self._offsets[-1] + len(data))

    def strings(self) -> Strings:
        """Return the strings, mapped; nothing can be added then."""
        offsets = np.frombuffer(self._offsets, np.int64)
        self._file.flush()
        data = np.empty(0, np.uint8)
        if offsets[-1]:
            data = np.frombuffer(
                mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8
            )
        self._file.close()
        return Strings(data, offsets)


def packed(
    pieces: Iterable[NDArray[Any]], dtype: DTypeLike, row: tuple[int, ...] = ()
) -> NDArray[Any]:
    """Return arrays end to end, (rows, …), in a temporary file that vanishes with the result.

    Args:
        pieces: of the same type and with rows of the same shape.
        dtype: of their numbers.
        row: the shape of a row.
    """
    with TemporaryFile() as file:
        for piece in pieces:
            file.write(np.ascontiguousarray(piece, dtype).data)
        file.flush()
        if not file.tell():
            return np.empty((0, *row), dtype)
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype).reshape(-1, *row)


def release(values: NDArray[Any]) -> None:
    """Let the system drop the pages of a mapped array, which are read again if they are needed.

    An array in memory is left as it is.
    """
    base: object = values
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
