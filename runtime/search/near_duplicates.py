"""Fold near duplicates among ranked documents: those that share most of their words."""

from collections.abc import Iterable
from itertools import pairwise
from math import ceil
from typing import Generic, TypeVar

import numpy as np

from ranklet.runtime.storage.forward import Gathered

NEAR = 0.9  # of the different words of two texts that both have, from which on they are alike

_SPREAD = np.uint32(2_654_435_761)  # odd, so different numbers stay different (Knuth, §6.4)

Word = TypeVar("Word", int, str)  # its number, or as it is written
Words = frozenset[Word]  # the different words of a text


def number_word_sets(words: Gathered) -> list[Words[int]]:
    """Return the different words of each text, by other numbers, whose order is no alphabet's."""
    spread = words.tokens.astype(np.uint32) * _SPREAD
    tokens, ends = spread.tolist(), np.cumsum(words.lengths).tolist()
    return [frozenset(tokens[begin:end]) for begin, end in pairwise([0, *ends])]


def likeness(one: Words[Word], other: Words[Word]) -> float:
    """Return the share of the words of two texts that both have (Jaccard), 0 if there are none.

    >>> likeness(frozenset({1, 2, 3}), frozenset({2, 3, 4}))
    0.5
    """
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


class Folding(Generic[Word]):
    """Documents that come one after another, each of which is kept or folded into one before.

    It is folded into the first that is alike. Two texts that are alike share a word even among the
    few that come first in any one order, here that of the numbers (Bayardo et al. 2007, "Scaling up
    all pairs similarity search"), so most pairs are never compared.

    >>> folding = Folding()
    >>> [folding.add(frozenset(words)) for words in ([1, 2], [3], [2, 1], [])]
    [None, None, 0, None]

    Attributes:
        kept: the words of each document that is kept, in their order.
    """

    def __init__(self, kept: Iterable[Words[Word]] = ()) -> None:
        self.kept: list[Words[Word]] = []
        # By word, the places of those that have it among their first.
        self._having: dict[Word, list[int]] = {}
        for each in kept:
            self._keep(each, _first(each))

    def add(self, words: Words[Word]) -> int | None:
        """Return the place of the document that the next one is folded into; None if it is kept."""
        first, least = _first(words), NEAR * len(words)
        found = {place for word in first for place in self._having.get(word, ())}
        for place in sorted(found):
            other = self.kept[place]
            if least <= len(other) <= len(words) / NEAR and likeness(words, other) >= NEAR:
                return place
        self._keep(words, first)
        return None

    def _keep(self, words: Words[Word], first: list[Word]) -> None:
        for word in first:
            self._having.setdefault(word, []).append(len(self.kept))
        self.kept.append(words)


def _first(words: Words[Word]) -> list[Word]:
    """Return those words of which a text that is alike has at least one among its own."""
    return sorted(words)[: len(words) - ceil(NEAR * len(words)) + 1] if words else []
