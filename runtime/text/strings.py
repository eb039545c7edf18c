"""Strings packed into two arrays: a million of them open in no time, since none is read yet."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError

_CACHE_SIZE = 1 << 16  # looked-up strings that are kept; then the cache starts anew
_CACHE_LENGTH = 64  # characters; longer strings are not kept, lest queries fill the memory


class Strings:
    """An immutable list of strings over UTF-8 bytes and offsets, in memory or memory-mapped.

    Args:
        data: UTF-8 of all strings, end to end, (bytes,) uint8.
        offsets: string i is ``data[offsets[i]:offsets[i + 1]]``, (strings + 1,) int64.
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data, self.offsets = data, offsets
        # A memoryview slices five times faster than an array, and look-ups are made of slices.
        # The casts are for arrays that do not lie at a multiple of 8 bytes, as in a zip that
        # another program packed: of those, numpy gives a view that cannot be indexed.
        self._data, self._offsets = data.data, offsets.data.cast("B").cast("q")

    @classmethod
    def pack(cls, strings: Iterable[str]) -> Self:
        """Pack strings in the order given.

        >>> list(Strings.pack(["b", "", "ä"]))
        ['b', '', 'ä']
        """
        data, offsets = bytearray(), [0]
        for string in strings:
            data += string.encode("utf-8", "replace")  # a lone surrogate must not stop an index
            offsets.append(len(data))
        return cls(np.frombuffer(bytes(data), np.uint8), np.array(offsets, np.int64))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def raw(self, index: int) -> bytes:
        """Return the UTF-8 bytes of string ``index``."""
        return bytes(self._data[self._offsets[index] : self._offsets[index + 1]])

    def __getitem__(self, index: int) -> str:
        try:
            return self.raw(index).decode("utf-8")
        except UnicodeDecodeError as error:
            raise BundleError(
                f"string {index} of the bundle is not UTF-8 ({error.reason}): the bundle is "
                "damaged; run `ranklet verify` on it and export it again"
            ) from error

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))


class SortedStrings(Strings):
    """Strings in the order of their UTF-8 bytes, without repeats: found by bisection."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        super().__init__(data, offsets)
        self._found: dict[str, int] = {}

    def find(self, string: str) -> int:
        """Return the index of a string, or -1 where it is not among them.

        >>> vocabulary = SortedStrings.pack(["ant", "bee"])
        >>> vocabulary.find("bee"), vocabulary.find("cow")
        (1, -1)
        """
        index = self._found.get(string)
        if index is None:
            # A lone surrogate must not be found as the "?" that UTF-8 would make of it.
            index = self._bisect(string.encode("utf-8", "surrogatepass"))
            if len(string) <= _CACHE_LENGTH:
                if len(self._found) >= _CACHE_SIZE:
                    self._found = {}  # replaced, not cleared: another thread may be reading it
                self._found[string] = index
        return index

    def _bisect(self, wanted: bytes) -> int:
        index = bisect_left(range(len(self)), wanted, key=self.raw)
        return index if index < len(self) and self.raw(index) == wanted else -1
