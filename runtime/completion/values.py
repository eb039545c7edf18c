"""The titles of documents, or the values of a field, by how they begin."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.metadata.columns import Lists, Metadata, Texts
from ranklet.runtime.storage.block_array import fetch_whole
from ranklet.runtime.storage.strings import SortedStrings, Strings
from ranklet.runtime.text.splitter import Splitter

_BEFORE = ".@#/"  # signs that belong to a word that they stand before
LONGEST = 100  # characters of a value that is offered
_MOST = (1 << 21) - 1  # documents that hold a value, as far as a sort key counts them

Ranges = Sequence[tuple[int, int]]  # places among sorted strings, first and past the last


class Held(NamedTuple):
    """Which document holds which value; both have one entry per pair."""

    values: Strings
    codes: NDArray[np.integer]  # places in `values`, (pairs,)
    documents: NDArray[np.integer]  # (pairs,)


def fold_value(text: str, splitter: Splitter) -> list[str]:
    """Return the spellings by which a text is found: of all its words, and without first emoji.

    >>> from ranklet.runtime.text.scripts import splitter
    >>> texts = ["¿Crème   Brûlée?", "🎉 Party", "C++ ", "!!!"]
    >>> [fold_value(each, splitter()) for each in texts]
    [['creme brulee'], ['🎉 party', 'party'], ['c++ '], ['!!!']]
    """
    chunks = text.split()
    words = [word for each in chunks for word in _words(each, splitter)]
    space = " " if words and text[-1:].isspace() else ""
    whole = (" ".join(words) or splitter.fold(" ".join(chunks))) + space
    first = next((at for at, each in enumerate(words) if any(map(str.isalnum, each))), 0)
    return [whole, " ".join(words[first:]) + space] if first else [whole]


@lru_cache(1 << 16)  # titles share words
def _words(chunk: str, splitter: Splitter) -> tuple[str, ...]:
    """Return the words and emoji of a text without spaces."""
    return tuple(splitter.fold(each.lstrip(_BEFORE)) for each in splitter.runs(chunk))


class Values:
    """The distinct values of a field in the order of their folded spellings, held in memory.

    Args:
        held: returns which document holds which value; called when it is first needed.
        splitter: finds the words of a value.
    """

    def __init__(self, held: Callable[[], Held | None], splitter: Splitter) -> None:
        self._held, self._splitter = held, splitter

    def fold(self, text: str) -> str:
        """Return how a text is spelled among the values: as a search does, and without signs."""
        return fold_value(text, self._splitter)[0]

    @cached_property
    def _made(self) -> "_Sorted":
        return _Sorted.of(self._held(), self._splitter)

    @property
    def folded(self) -> SortedStrings:
        """The folded spellings, in order; one may stand there several times."""
        return self._made.folded

    def counts(
        self, ranges: Ranges, mask: Mask | None
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the values in some ranges that documents hold, and how many do.

        Args:
            ranges: places of values; they may overlap.
            mask: which documents count, (documents,) bool; None for all.
        """
        places, numbers = [np.empty(0, np.intp)], [np.empty(0, np.int64)]
        offsets, documents = self._made.offsets, self._made.documents
        for begin, end in _apart(ranges):
            first = offsets[begin : end + 1]
            count = np.diff(first)
            if mask is not None:
                shown = mask[documents[first[0] : first[-1]]].astype(np.int64)
                count = np.add.reduceat(shown, first[:-1] - first[0])
            kept = np.flatnonzero(count)
            places.append(kept + begin)
            numbers.append(count[kept])
        return np.concatenate(places), np.concatenate(numbers)

    def best(self, ranges: Ranges, mask: Mask | None, k: int) -> dict[str, int]:
        """Return the k values that most documents hold, with how many; then shorter ones first."""
        places, counts = self.counts(ranges, mask)
        sizes = self.folded.sizes()[places]
        # More documents first, then shorter ones, then the alphabet, in 21, 10 and 32 bits.
        keys = (_MOST - np.minimum(counts, _MOST) << 42) + (sizes << 32) + places
        if k < len(keys):
            keys = np.partition(keys, k)[:k]
        chosen = np.sort(keys) & 0xFFFFFFFF
        count_of = dict(zip(places.tolist(), counts.tolist(), strict=True))
        return {self.spelled(place): count_of[place] for place in chosen.tolist()}

    def count(self, value: str, mask: Mask | None) -> int:
        """Return how many documents hold a value."""
        begin, end = self.folded.range_of(self.fold(value))
        same = [(at, at + 1) for at in range(begin, end) if self.spelled(at) == value]
        return int(self.counts(same, mask)[1].sum())

    def spelled(self, place: int) -> str:
        """Return the value at a place, as it is written."""
        return self._made.values[int(self._made.codes[place])]


class _Sorted(NamedTuple):
    """Spellings in order: the documents of place p are ``documents[offsets[p]:offsets[p + 1]]``."""

    folded: SortedStrings
    values: Strings
    codes: NDArray[np.int64]  # places in `values`, (sorted,); a value may have two spellings
    offsets: NDArray[np.int64]  # (sorted + 1,)
    documents: NDArray[np.uint32]

    @classmethod
    def of(cls, held: Held | None, splitter: Splitter) -> "_Sorted":
        if held is None:
            none = np.empty(0, np.int64)
            return cls(
                SortedStrings.pack([]), Strings.pack([]), none, np.zeros(1, np.int64),
                none.astype(np.uint32),
            )  # fmt: skip
        texts = [each.decode("utf-8", "replace") for each in held.values.every_raw()]
        first: dict[str, int] = {}
        same = np.array([first.setdefault(each, at) for at, each in enumerate(texts)], np.int64)
        order = sorted(
            (spelling, text, at, also)
            for text, at in first.items()
            if len(text) <= LONGEST
            for also, spelling in enumerate(fold_value(text, splitter))
            if spelling
        )
        rank = np.full((2, len(texts)), -1, np.int64)
        for place, (_, _, at, also) in enumerate(order):
            rank[also, at] = place
        ranks = rank[:, same[held.codes]]
        size = 1 + int(held.documents.max(initial=0))
        pairs = np.unique((ranks * size + held.documents)[ranks >= 0])
        filled, counts = np.unique(pairs // size, return_counts=True)  # a value may be nobody's
        return cls(
            SortedStrings.pack(order[place][0] for place in filled.tolist()),
            held.values,
            np.array([order[place][2] for place in filled.tolist()], np.int64),
            np.cumsum([0, *counts.tolist()]),
            (pairs % size).astype(np.uint32),
        )


def list_values(documents: Documents, columns: Metadata) -> tuple[Values, dict[str, Values]]:
    """Return the titles, and the values of each field, none of which is read yet."""
    split = documents.vocabulary.splitter
    fields = {name: Values(partial(_values_held, columns, name), split) for name in columns.types}
    return Values(partial(_titles_held, documents), split), fields


def _titles_held(documents: Documents) -> Held:
    """Return the title of each document, of which the first passage stands for all."""
    fetch_whole(*documents.titles.packed)
    numbers = np.arange(len(documents)) if documents.begins is None else documents.begins
    return Held(documents.titles, numbers, numbers)


def _values_held(columns: Metadata, name: str) -> Held | None:
    """Return the strings that each document has in a field; None for a field of other values."""
    column = columns.column(name)
    if isinstance(column, Texts):
        fetch_whole(*column.distinct.packed)
        there = np.ones(len(column.keys), np.bool_) if column.missing is None else ~column.missing
        numbers = np.flatnonzero(there)
        return Held(column.distinct, np.asarray(column.keys)[numbers], numbers)
    if isinstance(column, Lists):
        fetch_whole(*column.distinct.packed)
        owners = np.repeat(np.arange(len(column.offsets) - 1), np.diff(column.offsets))
        return Held(column.distinct, np.asarray(column.codes), owners)
    return None


def _apart(ranges: Ranges) -> list[tuple[int, int]]:
    """Return ranges without what they share, and without empty ones.

    >>> _apart([(5, 9), (1, 3), (2, 4), (7, 7)])
    [(1, 4), (5, 9)]
    """
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if begin < end and joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        elif begin < end:
            joined.append((begin, end))
    return joined


def most_frequent_values(
    parts: Sequence[tuple[Values, Mask | None]], find: Callable[[SortedStrings], Ranges], k: int
) -> list[str]:
    """Return the k values that most documents of all parts hold; then shorter ones come first.

    Args:
        parts: the values in each part of a collection, and which documents count there.
        find: returns the ranges of folded spellings that are meant.
        k: the most that come back.
    """
    (base, mask), *others = parts
    found: dict[str, int] = {}
    for values, shown in others:
        ranges = find(values.folded)
        for place, count in zip(
            *(each.tolist() for each in values.counts(ranges, shown)), strict=True
        ):
            text = values.spelled(place)
            found[text] = found.get(text, 0) + count
    # Whatever is not among so many of the base cannot come back, unless a further part has it.
    best = base.best(find(base.folded), mask, k + len(found))
    for text in list(found):
        found[text] += best.pop(text, 0) or base.count(text, mask)
    found |= best

    def order(text: str) -> tuple[int, int, str, str]:
        spelling = base.fold(text)
        return -found[text], len(spelling.encode()), spelling, text

    return sorted(found, key=order)[:k]
