"""Number the chunks between the spaces of many texts at once, by a hash table in numpy.

Most words of a text are chunks that were seen before. Python takes half a microsecond for each, and
numpy a fifth of that.
"""

from collections.abc import Iterator, Sequence
from secrets import randbits
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.text.splitter import LONGEST, QUIET_AFTER, QUIET_BEFORE

_WORD: Final = 8  # bytes that are compared at once
# Whether each byte is a space, or a quiet sign.
_SPACE = bytes(chr(byte).isspace() and byte < 128 for byte in range(256))
_BEFORE, _AFTER = (
    np.array([chr(byte) in quiet for byte in range(256)]) for quiet in (QUIET_BEFORE, QUIET_AFTER)
)
# Those of the next eight bytes that a chunk with so many more has.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], np.uint64)
_QUIET = 4  # signs that are left out before a chunk, or after it
_SLOTS = 1 << 10  # of a new table
# Drawn anew in each process, so that no text can be made to pass for another.
_ODD, _FACTOR = (np.uint64(randbits(64) | 1) for _ in range(2))


class Chunks(NamedTuple):
    """The chunks of some texts.

    Attributes:
        data: all texts with spaces between them.
        begins: where each chunk begins in `data`, (chunks,).
        sizes: bytes of each, (chunks,).
        of_texts: number of chunks of each text, (texts,).
    """

    data: bytes
    begins: NDArray[np.int64]
    sizes: NDArray[np.int64]
    of_texts: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> "Chunks":
        """Divide texts at their ASCII spaces, and leave out quiet signs around chunks.

        >>> found = Chunks.of([b'A cat, "a dog."', b"", b"(...)"])
        >>> list(found.some(np.arange(5))), found.of_texts.tolist()
        ([b'A', b'cat', b'a', b'dog', b''], [4, 0, 1])
        """
        data = b" ".join([b"", *texts, b" " * LONGEST])
        array = np.frombuffer(data, np.uint8)
        space = np.frombuffer(data.translate(_SPACE), np.uint8)
        edges = np.flatnonzero(space[1:] != space[:-1]) + 1
        begins, ends = edges[::2].copy(), edges[1::2].copy()
        of_texts = np.diff(np.searchsorted(begins, np.cumsum(np.array([0, *map(len, texts)]) + 1)))
        quiet = np.flatnonzero(_AFTER.take(array.take(ends - 1)))
        for _ in range(_QUIET):
            ends[quiet] -= 1
            quiet = quiet[_AFTER[array[ends[quiet] - 1]] & (begins[quiet] < ends[quiet])]
        quiet = np.flatnonzero(_BEFORE.take(array.take(begins)) & (begins < ends))
        for _ in range(_QUIET):
            begins[quiet] += 1
            quiet = quiet[_BEFORE[array[begins[quiet]]] & (begins[quiet] < ends[quiet])]
        return cls(data, begins, ends - begins, of_texts)

    def some(self, numbers: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of some chunks."""
        ends = self.begins[numbers] + self.sizes[numbers]
        for begin, end in zip(self.begins[numbers].tolist(), ends.tolist(), strict=True):
            yield self.data[begin:end]


class ChunkNumbers:
    """Numbers chunks from 1, which are known by their first eight bytes and a hash of the others.

    Those of more than `LONGEST` bytes are never known.
    """

    def __init__(self) -> None:
        self._table = np.zeros(_SLOTS, np.int32)  # the numbers of chunks, 0 where there is none
        self._keys = np.zeros((2, _SLOTS), np.uint64)  # by number; there may be some to spare
        self._count = 1

    def find(self, chunks: Chunks) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Return the numbers of chunks, 0 for those that are not known, and the keys of all."""
        keys = _keys_of(chunks)
        slots = self._slots(keys)
        numbers = self._table.take(slots)
        numbers[chunks.sizes > LONGEST] = 0
        others = np.flatnonzero(self._differ(numbers, keys))
        while len(others):
            slots[others] = self._next(slots[others])
            numbers[others] = self._table[slots[others]]
            others = others[self._differ(numbers[others], keys[:, others])]
        return numbers, keys

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Number some chunks that are not known, by their different keys, (2, chunks)."""
        first, self._count = self._count, self._count + keys.shape[1]
        while self._count > self._keys.shape[1]:
            self._keys = np.hstack([self._keys, np.zeros_like(self._keys)])
        self._keys[:, first : self._count] = keys
        if 2 * self._count > len(self._table):
            self._table = np.zeros(4 * self._keys.shape[1], np.int32)
            first = 1
        numbers = np.arange(first, self._count, dtype=np.int32)
        slots = self._slots(self._keys[:, first : self._count])
        while len(numbers):
            free = self._table[slots] == 0
            self._table[slots[free]] = numbers[free]  # of several with one slot, the last has it
            left = self._table[slots] != numbers
            slots, numbers = self._next(slots[left]), numbers[left]

    def _differ(self, numbers: NDArray[np.int32], keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which of some numbers are those of chunks with other keys."""
        found: NDArray[np.bool_] = numbers > 0
        first, second = self._keys[0].take(numbers), self._keys[1].take(numbers)
        found &= (first != keys[0]) | (second != keys[1])
        return found

    def _slots(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return where the numbers of chunks are looked for first."""
        mixed: NDArray[np.uint64] = (keys[0] + keys[1] * _FACTOR) * _ODD
        return (mixed >> np.uint64(65 - len(self._table).bit_length())).astype(np.int64)

    def _next(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where they are looked for next."""
        return (slots + 1) & (len(self._table) - 1)


def _keys_of(chunks: Chunks) -> NDArray[np.uint64]:
    """Return two numbers that tell each chunk from all others, (2, chunks)."""
    data, begins, sizes = chunks.data, chunks.begins, chunks.sizes
    words = np.ndarray(len(data) + 1 - _WORD, "<u8", data, strides=(1,))  # from each byte on
    first = words[begins] & _MASKS.take(np.minimum(sizes, _WORD))
    second = sizes.astype(np.uint64)
    rest = np.flatnonzero(sizes > _WORD)
    for at in range(_WORD, LONGEST, _WORD):
        more = words[begins[rest] + at] & _MASKS[np.minimum(sizes[rest] - at, _WORD)]
        mixed = (second[rest] ^ more) * _ODD
        second[rest] = mixed ^ (mixed >> np.uint64(32))
        rest = rest[sizes[rest] > at + _WORD]
    return np.array([first, second])
