"""Strings packed into two arrays, so that opening a million of them reads none."""

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.storage.block_array import is_absent

Offsets = NDArray[np.int64] | NDArray[np.uint32]

_CACHE_SIZE = 1 << 16  # number of look-ups that are cached before the cache is emptied
# Bytes of a dictionary, and to how many bytes a string inflates at most, so that a hostile one
# cannot fill the memory: a fixed number, and so many for each stored byte.
MOST_DICTIONARY, _MOST, _MOST_PER_BYTE = 1 << 15, 1 << 16, 64
_CACHE_LENGTH = 64  # characters; longer strings are not cached, so that queries cannot fill memory


class Strings:
    """An immutable list of strings over UTF-8 bytes and offsets, in memory or memory-mapped.

    Each string of a `BlockArray` that is read waits for the network, unless `fetch_rows` was called
    for it before.

    Args:
        data: the UTF-8 bytes of all strings, concatenated, (bytes,) uint8.
        offsets: string i is ``data[offsets[i]:offsets[i + 1]]``, (strings + 1,) int64 or uint32.
    """

    def __init__(self, data: NDArray[np.uint8], offsets: Offsets) -> None:
        self.data, self.offsets = data, offsets
        self._data: memoryview | NDArray[np.uint8]
        self._offsets: memoryview | Offsets
        if is_absent(data) or is_absent(offsets):
            self._data, self._offsets = data, offsets
            return
        # A memoryview slices five times faster than an array, and a look-up is mostly slicing.
        # An array in a zip that another program packed may not start at a multiple of 8 bytes.
        # Without the casts, numpy's view of such an array cannot be indexed.
        kind: Literal["q", "I"] = "q" if offsets.dtype == np.int64 else "I"
        self._data, self._offsets = data.data, offsets.data.cast("B").cast(kind)

    @classmethod
    def pack(cls, strings: Iterable[str]) -> Self:
        """Pack strings in their order.

        >>> list(Strings.pack(["b", "", "ä"]))
        ['b', '', 'ä']
        """
        data, offsets = bytearray(), array("q", [0])
        for string in strings:
            data += string.encode("utf-8", "replace")  # a lone surrogate must not stop indexing
            offsets.append(len(data))
        return cls(np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64))

    @property
    def packed(self) -> tuple[Offsets, NDArray[np.uint8]]:
        """The offsets and the bytes, as `fetch_rows` takes them."""
        return self.offsets, self.data

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def sizes(self, begin: int = 0, end: int | None = None) -> NDArray[np.int64]:
        """Return how many bytes each of some strings takes, (strings,) int64.

        >>> Strings.pack(["b", "", "ä"]).sizes(1).tolist()
        [0, 2]
        """
        last = len(self) if end is None else end
        offsets = self.offsets[begin : last + 1].astype(np.int64)
        return offsets[1:] - offsets[:-1]

    def raw(self, index: int) -> bytes:
        """Return the UTF-8 bytes of string ``index``."""
        return bytes(self._data[self._offsets[index] : self._offsets[index + 1]])

    def every_raw(self) -> list[bytes]:
        """Return all strings as UTF-8 bytes, three times as fast as one by one.

        >>> Strings.pack(["a", "", "bc"]).every_raw()
        [b'a', b'', b'bc']
        """
        data, offsets = self.data.tobytes(), self.offsets.tolist()
        return [data[begin:end] for begin, end in pairwise(offsets)]

    def __getitem__(self, index: int) -> str:
        try:
            return self.raw(index).decode("utf-8")
        except UnicodeDecodeError as error:
            raise BundleError(
                f"string {index} of the bundle is not UTF-8 ({error.reason}). The bundle is "
                "damaged: run `ranklet verify` and export it again"
            ) from error

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))


class CompressedStrings(Strings):
    """Strings that are compressed one by one, all with one dictionary.

    Args:
        data: raw DEFLATE streams (RFC 1951), end to end, (bytes,) uint8.
        offsets: stream i is ``data[offsets[i]:offsets[i + 1]]``, (strings + 1,) int64 or uint32.
        dictionary: what every stream may refer to, as if it stood before it.
    """

    def __init__(self, data: NDArray[np.uint8], offsets: Offsets, dictionary: bytes) -> None:
        super().__init__(data, offsets)
        self.dictionary = dictionary

    def raw(self, index: int) -> bytes:
        """Return the UTF-8 bytes of string ``index``."""
        stored = super().raw(index)
        stream = zlib.decompressobj(-zlib.MAX_WBITS, zdict=self.dictionary)
        try:
            string = stream.decompress(stored, most_inflated(len(stored)))
        except zlib.error as error:
            raise damaged(f"string {index} cannot be inflated: {error}") from error
        if not stream.eof or stream.unused_data:
            raise damaged(f"string {index} is cut short, too long, or more follows it")
        return string

    def every_raw(self) -> list[bytes]:
        """Return all strings as UTF-8 bytes."""
        return list(map(self.raw, range(len(self))))


def most_inflated(stored: int) -> int:
    """Return to how many bytes a string of so many stored bytes inflates at most."""
    return _MOST + _MOST_PER_BYTE * stored


class SortedStrings(Strings):
    """Unique strings in the order of their UTF-8 bytes, found by bisection."""

    def __init__(self, data: NDArray[np.uint8], offsets: Offsets) -> None:
        super().__init__(data, offsets)
        self._found: dict[str, int] = {}

    def find(self, string: str) -> int:
        """Return the index of a string, or -1 if it is not in the list.

        >>> vocabulary = SortedStrings.pack(["ant", "bee"])
        >>> vocabulary.find("bee"), vocabulary.find("cow")
        (1, -1)
        """
        index = self._found.get(string)
        if index is None:
            # A lone surrogate must not match the "?" that UTF-8 encoding would turn it into.
            index = self.find_between(string, 0, len(self))
            if len(string) <= _CACHE_LENGTH:
                if len(self._found) >= _CACHE_SIZE:
                    self._found = {}  # replaced, not cleared, as another thread may be reading it
                self._found[string] = index
        return index

    def range_of(self, prefix: str, begin: int = 0, end: int | None = None) -> tuple[int, int]:
        """Return the first index of the strings that begin with a prefix, and the one after.

        >>> SortedStrings.pack(["ant", "bean", "bee", "cow"]).range_of("be")
        (1, 3)

        Args:
            prefix: the prefix.
            begin: the first string that may begin so.
            end: the one after the last that may; None for all.
        """
        wanted, end = prefix.encode("utf-8", "surrogatepass"), len(self) if end is None else end
        begin = bisect_left(range(len(self)), wanted, begin, end, key=self.raw)
        if begin == end or not self.raw(begin).startswith(wanted):
            return begin, begin

        def is_past(index: int) -> bool:
            return not self.raw(index).startswith(wanted)

        return begin, bisect_left(range(len(self)), True, begin, end, key=is_past)

    def ending_with(self, suffix: str) -> NDArray[np.intp]:
        """Return the indexes of the strings that end with a suffix and are longer.

        All of them are looked at, of which few are left after two bytes.

        >>> SortedStrings.pack(["ant", "bean", "ean", "bee"]).ending_with("ean").tolist()
        [1]
        """
        wanted = suffix.encode("utf-8", "surrogatepass")
        ends, data = np.asarray(self.offsets)[1:], np.asarray(self.data)
        found = np.flatnonzero(self.sizes() > len(wanted))
        for back, byte in enumerate(reversed(wanted), 1):
            found = found[data[ends[found] - back] == byte]
        return found

    def first_with(self, prefix: str) -> int:
        """Return the index of the first string that begins with a prefix; -1 if none does.

        >>> SortedStrings.pack(["ant", "bean", "bee"]).first_with("be")
        1
        """
        wanted = prefix.encode("utf-8", "surrogatepass")
        index = bisect_left(range(len(self)), wanted, key=self.raw)
        return index if index < len(self) and self.raw(index).startswith(wanted) else -1

    def find_between(self, string: str, begin: int, end: int) -> int:
        """Return the index of a string from `begin` to before `end`, or -1 if it is not there."""
        wanted = string.encode("utf-8", "surrogatepass")
        index = bisect_left(range(len(self)), wanted, begin, end, key=self.raw)
        return index if index < end and self.raw(index) == wanted else -1
