"""Sort strings by their UTF-8 bytes, eight bytes of many at a time, and numbers in linear time."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.storage.strings import Strings

_WORD = 8  # bytes that are compared at once
_READ = 1 << 16  # strings that are read at a time


def choose_order(strings: Strings) -> NDArray[np.uint32]:
    """Return the numbers of strings in the order of their bytes, (strings,) uint32.

    Equal strings are in the order of their numbers.

    It takes some 40 bytes of memory per string. Sorting a list of the strings takes three times as
    much, and longer.

    >>> choose_order(Strings.pack(["b", "", "abcdefghi", "abcdefgh", "b"])).tolist()
    [1, 3, 2, 0, 4]
    """
    order = np.arange(len(strings), dtype=np.uint32)
    group = np.zeros(len(strings), np.uint32)  # of each place: the first place of equal beginnings
    open_ = np.arange(len(strings), dtype=np.uint32)  # places whose strings are not in order yet
    depth = 0
    while len(open_) > 1:
        words, lengths = _words(strings, order[open_], depth)
        ranked = np.lexsort((lengths, words, group[open_]))
        words, lengths, own = words[ranked], lengths[ranked], group[open_][ranked]
        order[open_] = order[open_][ranked]
        differs = (words[1:] != words[:-1]) | (lengths[1:] != lengths[:-1]) | (own[1:] != own[:-1])
        begins = np.flatnonzero(np.append(True, differs))
        sizes = np.diff(np.append(begins, len(open_)))
        group[open_] = np.repeat(open_[begins], sizes)
        open_ = open_[np.repeat(sizes > 1, sizes) & (lengths == _WORD)]
        depth += _WORD
    return order


def _words(
    strings: Strings, numbers: NDArray[np.uint32], depth: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the next eight bytes of some strings as numbers, and how many bytes there were.

    Missing bytes are 0. Of two strings with the same number, the shorter one comes first.

    Args:
        strings: all strings.
        numbers: which of them, (some,).
        depth: how many bytes of each come before.
    """
    words = np.zeros(len(numbers), np.uint64)
    lengths = np.zeros(len(numbers), np.uint8)
    places = np.arange(_WORD)
    for at in range(0, len(numbers), _READ):
        part = slice(at, at + _READ)
        begins = strings.offsets[numbers[part]] + depth
        ends = strings.offsets[numbers[part].astype(np.int64) + 1]
        rest = np.clip(ends - begins, 0, _WORD)
        lengths[part] = rest
        read = np.zeros((len(rest), _WORD), np.uint8)
        has = places < rest[:, None]
        read[has] = strings.data[(begins[:, None] + places)[has]]
        words[part] = read.view(">u8")[:, 0]
    return words, lengths


def order_numbers(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the places of numbers in ascending order, of equal ones in their order.

    numpy sorts stably in linear time only what has 16 bits, so it sorts by the low ones first.

    >>> order_numbers(np.array([1 << 20, 3, 1 << 20, 1 << 16 | 2])).tolist()
    [1, 3, 0, 2]

    Args:
        numbers: ≥ 0 and below 2³², (n,).
    """
    order: NDArray[np.int64] = np.argsort(numbers.astype(np.uint16), kind="stable")
    if len(numbers) and (high := numbers >> 16).any():
        order = order[np.argsort(high[order].astype(np.uint16), kind="stable")]
    return order
