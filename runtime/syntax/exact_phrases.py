"""Read in the texts of ranked documents whether these have a phrase, stop words included."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.syntax.searched_texts import SearchedTexts
from ranklet.runtime.text.compounds import Placed, parts
from ranklet.runtime.text.searchable import make_searchable, row_pattern
from ranklet.runtime.text.spellings import unaccented
from ranklet.runtime.text.splitter import Splitter

MOST_CHARACTERS = 1_000_000  # that are read for one query if its time is limited
_STEPS = (1, 2, 3, 4, 5)  # to the next word; compounds or a name's parts may be in between
# Words of a phrase that are looked for before the others; more decide little, and cost time if all
# are alike.
_ROW = 16
_FETCHED = 100  # texts that are fetched at once from object storage


class Excluded(NamedTuple):
    """A phrase that no hit has."""

    phrase: str
    possible: Mask  # the documents that may have it, (documents,)


class Forms(NamedTuple):
    """Words in one form, of which an index knows only that a document has one of their forms."""

    required: NDArray[np.integer]  # ids, all of which a hit has
    excluded: NDArray[np.integer]  # ids, none of which a passage of a hit has
    possible: Mask  # the documents that may have these, (documents,)


class ExactPhrases:
    """The phrases of a query, which are looked up in the texts of documents that would be hits.

    The index says which documents may have a phrase, and the text decides.

    Args:
        texts: the collection, and what is searched of it.
        required: phrases that a hit has.
        excluded: phrases that no passage of a hit has.
        deadline: the call's deadline.
        forms: single words; None for none.
    """

    def __init__(
        self,
        texts: SearchedTexts,
        required: Sequence[str],
        excluded: Sequence[Excluded],
        deadline: Deadline,
        forms: Forms | None = None,
    ) -> None:
        self._texts, self._deadline, self._forms = texts, deadline, forms
        self._documents = texts.documents
        split = self._documents.vocabulary.phrase_splitter
        self._required = [_Said(phrase, split) for phrase in required]
        self._excluded = [(_Said(each.phrase, split), each.possible) for each in excluded]
        self._fits: dict[int, bool] = {}
        self._characters = 0

    def fitting(self, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of some documents have the phrases that they must, and no others.

        Returns:
            One value per document, fewer if there is no time for the last ones. The very first
            document is read in any case.
        """
        found = []
        self._texts.fetch(numbers[:_FETCHED])
        for number in numbers.tolist():
            if number not in self._fits:
                if self._fits and self._spent:
                    break
                self._fits[number] = self._read(number)
            found.append(self._fits[number])
        return np.array(found, np.bool_)

    @property
    def _spent(self) -> bool:
        much = self._characters >= MOST_CHARACTERS
        return self._deadline.limited and (much or self._deadline.passed)

    def _read(self, number: int) -> bool:
        said = self._said(number)
        if not all(_has(said, phrase) for phrase in self._required):
            return False
        if self._forms and not self._has_forms(self._forms.required, number, every=True):
            return False
        parts = self._passages(number) if self._excluded or self._forms else ()
        return not any(self._is_excluded(part, said if part == number else None) for part in parts)

    def _is_excluded(self, part: int, said: "Sequence[_Said] | None") -> bool:
        """Return whether a passage has something excluded; its texts may have been read."""
        possible = [phrase for phrase, documents in self._excluded if documents[part]]
        if possible:
            said = said or self._said(part)
            if any(_has(said, phrase) for phrase in possible):
                return True
        forms = self._forms
        return bool(
            forms and forms.possible[part] and self._has_forms(forms.excluded, part, every=False)
        )

    def _has_forms(self, words: NDArray[np.integer], number: int, *, every: bool) -> bool:
        """Return whether a document has every one of some words, or any of them."""
        if not len(words):
            return every
        documents = self._documents
        read = documents.that_may_have(words, np.array([number]))
        there = np.isin(words, documents.words(read).tokens)
        if strings := self._texts.strings(number):
            known, split = documents.vocabulary, documents.vocabulary.splitter
            there |= np.isin(words, [known.find(w) for text in strings for w in split.words(text)])
        return bool(there.all() if every else there.any())

    def _passages(self, number: int) -> Iterable[int]:
        first = self._documents.first
        whole = number if first is None else int(first[number])
        passages: list[int] = self._documents.passages(whole).tolist()
        return passages

    def _said(self, number: int) -> "list[_Said]":
        texts = self._texts.read(number)
        self._characters += sum(map(len, texts))
        return [_Said(text, self._documents.vocabulary.phrase_splitter) for text in texts]


def has_phrase(text: str, phrase: str, splitter: Splitter) -> bool:
    """Return whether a text has a phrase; see `ExactPhrases`."""
    return _Said(text, splitter).has(_Said(phrase, splitter))


def _has(said: "Sequence[_Said]", phrase: "_Said") -> bool:
    return any(each.has(phrase) for each in said)


class _Said:
    """The words of a text in order, with and without compounds, as they are written.

    Each is a word between two bars. What is elided before it stands before the bars, and what else
    belongs to it behind them, such as a possessive 's. Both are no part of what is searched by.
    """

    def __init__(self, text: str, splitter: Splitter) -> None:
        self._text, self._splitter = text, splitter

    @cached_property
    def _plain(self) -> list[str]:
        return _fold(self._splitter.words(self._text))

    @cached_property
    def _searchable(self) -> str | None:
        return make_searchable(self._text, self._splitter)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """What a text has that has this phrase; None if a compound stands for other words."""
        return row_pattern(self._plain) if self._plain == self.folded else None

    @cached_property
    def _placed(self) -> list[Placed]:
        return list(self._splitter.placed(self._text))

    @cached_property
    def words(self) -> list[str]:
        """All words as they are written, which takes longer to find out than what they are."""
        return self._spell(self._placed)

    @cached_property
    def parts(self) -> list[str]:
        """The words without compounds."""
        return self._spell(parts(self._placed))

    @cached_property
    def signed(self) -> list[str]:
        """The same words, where a word with a sign differs from the word without it."""
        return self._spell(parts(self._placed, signs=True))

    @cached_property
    def named(self) -> list[str]:
        """The same words, where a name in camel case stands for its parts."""
        return self._spell(parts(self._placed, names=True))

    @cached_property
    def folded(self) -> list[str]:
        """The words with the parts of names, as the places of a text's words are found by them."""
        return _fold(word for *_, word in parts(self._placed, names=True))

    def has(self, phrase: "_Said") -> bool:
        """Return whether the words of a phrase are in this text next to each other.

        Compounds of the text may be in between, and a sign that the phrase has counts.
        """
        pattern, text = phrase._pattern, self._searchable
        if pattern and text is not None and not pattern.search(text):
            return False
        if not self._has_near(phrase):
            return False
        if _beginning(phrase.words) in _join(self.words):
            return True
        if phrase.signed != phrase.parts:
            return _beginning(phrase.signed) in _join(self.signed)
        said = _beginning(phrase.named)
        return said in _join(self.parts) or said in _join(self.named)

    def _has_near(self, phrase: "_Said") -> bool:
        """Return whether the first words of a phrase have no more than compounds in between."""
        words = self._plain
        first, *others = phrase.folded
        at = {place for place, word in enumerate(words) if word == first}
        for word in others[: _ROW - 1]:
            ahead = {place + step for place in at for step in _STEPS}
            at = {place for place in ahead if place < len(words) and words[place] == word}
        return bool(at)

    def _spell(self, placed: Iterable[Placed]) -> list[str]:
        """Return words as they are written; see the class."""
        affixed = cache(self._splitter.affixes)
        found = []
        for begin, end, word in placed:
            before, behind = affixed(self._text[begin:end])
            elided = before if before.endswith("'") else ""
            found.append(
                f"{elided}|{before.removeprefix(elided)}{unaccented(word.lower())}|{behind}"
            )
        return found


def _fold(words: Iterable[str]) -> list[str]:
    """Return words without the capitals and accents that tell them from stop words."""
    return [unaccented(word.lower()) for word in words]


def _join(words: Iterable[str]) -> str:
    """Return words as one string with a mark before and after each of them."""
    return "\0" + "".join(f"{word}\0" for word in words)


def _beginning(phrase: Sequence[str]) -> str:
    """Return a phrase as one string, before whose first word something may be elided."""
    return _join(phrase).removeprefix("\0") if phrase[0].startswith("|") else _join(phrase)
