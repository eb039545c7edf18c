"""Complete what a person types from titles, values of fields and words."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import NamedTuple

import numpy as np

from ranklet.runtime.call.mask import Mask
from ranklet.runtime.completion.values import Ranges, Values, most_frequent_values
from ranklet.runtime.completion.words import Ids, PartWords, by_frequency, choose_spelling
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.hits import Completion
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.syntax.corrections import SHORTEST, ranges_near
from ranklet.runtime.text.analysis import Vocabulary
from ranklet.runtime.text.spellings import beginnings, unaccented
from ranklet.runtime.text.splitter import Splitter


class Part(NamedTuple):
    """What one part of a collection completes by.

    Attributes:
        values: of the titles and of each field, with the documents that the caller may see,
            (documents,) bool; None for all.
        words: None if no index has every word.
    """

    values: Mapping[str, tuple[Values, Mask | None]]
    words: PartWords | None


class _LastWord(NamedTuple):
    """The word that is being typed."""

    head: str  # what stands before it
    word: str  # as the collection's words are spelled

    @classmethod
    def of(cls, typed: str, splitter: Splitter) -> "_LastWord | None":
        placed = [each for each in splitter.placed(typed) if each[1] == len(typed)]
        begin, _, word = min(placed, default=(0, 0, ""))
        return cls(typed[:begin], word) if word else None


def complete(typed: str, k: int, parts: Sequence[Part]) -> list[Completion]:
    """Return what a person may go on to type, the best of each kind in turn.

    Titles, values of fields and words begin with what was typed. If none does, they begin with
    what differs from it in one letter, where it has `SHORTEST` letters or more. Of those that a
    search spells alike, the best is the only one.

    Args:
        typed: what was typed so far.
        k: the most that come back.
        parts: the parts of the collection.
    """
    fold = next(iter(parts[0].values.values()))[0].fold
    if not fold(typed):
        return []
    for near in (False, True):
        titles, *others = (
            [Completion(text, name) for text in _values(typed, k, name, parts, near=near)]
            for name in parts[0].values
        )
        values = filter(None, chain.from_iterable(zip_longest(*others)))
        words = map(Completion, islice(_words(typed, parts, near=near), k))
        found: dict[str, Completion] = {}
        for each in filter(None, chain.from_iterable(zip_longest(titles, values, words))):
            found.setdefault(fold(each.text), each)
        if found:
            return list(found.values())[:k]
    return []


def _values(typed: str, k: int, name: str, parts: Sequence[Part], *, near: bool) -> list[str]:
    """Return the best titles, or values of a field."""
    prefix = parts[0].values[name][0].fold(typed)
    if near and len(prefix) < SHORTEST:
        return []

    def find(spellings: SortedStrings) -> Ranges:
        if near:
            return ranges_near(prefix, spellings)
        return [spellings.range_of(each) for each in sorted(beginnings(prefix))]

    return most_frequent_values([part.values[name] for part in parts], find, k)


def _words(typed: str, parts: Sequence[Part], *, near: bool) -> Iterator[str]:
    """Yield what was typed with its last word completed, most frequent words first."""
    every = [part.words for part in parts if part.words is not None]
    last = _LastWord.of(typed, every[0].vocabulary.splitter) if every else None
    if last is None or (near and len(last.word) < SHORTEST):
        return

    def find(vocabulary: Vocabulary) -> Ids:
        return _beginning(last.word, vocabulary, near=near)

    for word in by_frequency(every, find):
        if word != last.word:
            yield last.head + choose_spelling(word, every)


def _beginning(word: str, vocabulary: Vocabulary, *, near: bool) -> Ids:
    """Return the words that begin like one, without stop words, (words,) int64."""
    spelled = sorted(beginnings(word) | {unaccented(word.lower())})
    ranges = [
        each
        for beginning in spelled
        for each in (
            ranges_near(beginning, vocabulary.forms)
            if near
            else [vocabulary.forms.range_of(beginning)]
        )
    ]
    ids: Ids = distinct(
        np.concatenate([np.empty(0, np.int64), *(np.arange(*each) for each in ranges)])
    )
    known: Ids = ids[vocabulary.lemma_of[ids] >= 0]
    return known
