"""Join the columns of the parts of a collection, such as a base and its additions, to one."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.metadata.columns import (
    Column,
    Dates,
    Lists,
    Numbers,
    Ordered,
    Ordinals,
    Texts,
    collation,
    find,
)
from ranklet.runtime.storage.block_array import fetch_whole
from ranklet.runtime.storage.strings import Strings


def joined(parts: Sequence[Column]) -> Column:
    """Return one column with the values of several, end to end.

    >>> one = Texts("x", np.array([1, 0]), None, Strings.pack(["a", "c"]))
    >>> both = joined([one, Texts("x", np.array([0]), None, Strings.pack(["b"]))])
    >>> [both.value(number) for number in range(3)], list(both.distinct)
    (['c', 'a', 'b'], ['a', 'b', 'c'])

    Args:
        parts: columns of one field, which have the same type.
    """
    first, missing = parts[0], _missing(parts)
    if isinstance(first, Texts):
        strings = _Joined([each.distinct for each in parts if isinstance(each, Texts)])
        own = [each.keys for each in parts if isinstance(each, Texts)]
        return Texts(
            first.name, strings.codes(own), missing, strings, lambda: strings.collated(first)
        )
    if isinstance(first, Lists):
        return _lists([each for each in parts if isinstance(each, Lists)], missing)
    return _ordered([each for each in parts if isinstance(each, Numbers | Dates)], missing)


def _lists(parts: Sequence[Lists], missing: NDArray[np.uint8] | None) -> Lists:
    strings = _Joined([each.distinct for each in parts])
    lengths = np.concatenate([[0], *(np.diff(np.asarray(each.offsets)) for each in parts)])
    codes = strings.codes([each.codes for each in parts])
    column = Lists(parts[0].name, np.cumsum(lengths), codes, missing, strings)
    begins = np.cumsum([0, *map(len, parts)]).tolist()
    # What each part has found out is used again, because the base stays the same for many writes.
    owners = [own.once[0] + begin for own, begin in zip(parts, begins, strict=False)]
    column.once = np.concatenate(owners), strings.codes([each.once[1] for each in parts])
    return column


def _ordered(parts: Sequence[Numbers | Dates], missing: NDArray[np.uint8] | None) -> Ordered:
    first, keys = parts[0], np.concatenate([np.asarray(each.keys) for each in parts])
    column = type(first)(first.name, keys, missing, first.type)
    ordinals = [each.ordinals for each in parts]
    distinct = np.unique(np.concatenate([each.distinct for each in ordinals]))
    small = np.min_scalar_type(len(distinct))
    codes = [np.searchsorted(distinct, own.distinct).astype(small)[own.codes] for own in ordinals]
    column.ordinals = Ordinals(distinct, np.concatenate(codes))
    return column


def _missing(parts: Sequence[Column]) -> NDArray[np.uint8] | None:
    if all(each.missing is None for each in parts):
        return None
    flags = (np.zeros(len(each)) if each.missing is None else each.missing for each in parts)
    return np.concatenate([each.astype(np.uint8) for each in flags])


class _Joined(Strings):
    """The sorted strings of a base and those of further parts that it lacks, in one order.

    Only the strings of the further parts are read, which are few.

    Args:
        parts: sorted distinct strings, the base's first.
    """

    def __init__(self, parts: Sequence[Strings]) -> None:
        super().__init__(
            np.empty(0, np.uint8), np.zeros(1, np.int64)
        )  # so nothing is fetched later
        self._base, others = parts[0], [list(each) for each in parts[1:]]
        fetch_whole(*self._base.packed)
        places = {each: find(self._base, each) for each in sorted({*chain(*others)})}
        new = {each: place for each, (place, found) in places.items() if not found}
        before = np.array([*new.values()], np.int64)  # strings of the base before each new one
        self._new, self._at = list(new), before + np.arange(len(new))
        base = np.arange(len(self._base))
        base += np.searchsorted(before, base, side="right")
        code_of = dict(zip(new, self._at.tolist(), strict=True))
        code_of |= {each: int(base[place]) for each, (place, found) in places.items() if found}
        self._codes = [base, *(np.array([code_of[s] for s in own], np.int64) for own in others)]

    def __len__(self) -> int:
        return len(self._base) + len(self._new)

    def raw(self, index: int) -> bytes:
        """Return the UTF-8 bytes of string ``index``."""
        place = int(np.searchsorted(self._at, index))
        if place < len(self._at) and self._at[place] == index:
            return self._new[place].encode()
        return self._base.raw(index - place)

    def collated(self, base: Texts) -> NDArray[np.int64]:
        """Return the place of each string in the order of a dictionary, from those of the base."""
        order = np.argsort(base.collated)
        new = sorted(range(len(self._new)), key=lambda at: collation(self._new[at]))

        def place(text: str) -> int:
            key = collation(text)
            return bisect_left(order, key, key=lambda at: collation(self._base[int(at)]))

        before = np.array([place(self._new[at]) for at in new], np.int64)
        found = np.empty(len(self), np.int64)
        found[self._codes[0]] = base.collated + np.searchsorted(before, base.collated, side="right")
        found[self._at[new]] = before + np.arange(len(new))
        return found

    def codes(self, parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Return the codes of each part as places among these strings, end to end."""
        # Where all values of a part are missing, its codes are 0, and it has no string.
        return np.concatenate(
            [
                places[np.asarray(codes)] if len(places) else np.asarray(codes).astype(np.int64)
                for places, codes in zip(self._codes, parts, strict=True)
            ]
        )
