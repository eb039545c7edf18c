"""Join the columns of the parts of a collection, such as a base and its additions, to one."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.metadata.columns import Column, Dates, Lists, Numbers, Texts, find
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
        return Texts(first.name, strings.codes(own), missing, strings)
    if isinstance(first, Lists):
        lists = [each for each in parts if isinstance(each, Lists)]
        strings = _Joined([each.distinct for each in lists])
        codes = strings.codes([each.codes for each in lists])
        lengths = np.concatenate([[0], *(np.diff(np.asarray(each.offsets)) for each in lists)])
        return Lists(first.name, np.cumsum(lengths), codes, missing, strings)
    ordered = [each for each in parts if isinstance(each, Numbers | Dates)]
    keys = np.concatenate([np.asarray(each.keys) for each in ordered])
    return type(ordered[0])(first.name, keys, missing, ordered[0].type)


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

    def codes(self, parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Return the codes of each part as places among these strings, end to end."""
        # Where all values of a part are missing, its codes are 0, and it has no string.
        return np.concatenate(
            [
                places[np.asarray(codes)] if len(places) else np.asarray(codes).astype(np.int64)
                for places, codes in zip(self._codes, parts, strict=True)
            ]
        )
