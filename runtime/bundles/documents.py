"""Read the documents of a bundle (ids, titles, texts and tokens) from disk on demand."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import (
    BundleError,
    InputError,
    UnknownDocumentError,
    damaged,
    suggest,
)
from ranklet.runtime.storage.block_array import fetch_rows, fetch_whole
from ranklet.runtime.storage.forward import Forward, Gathered
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.names import CLASSES
from ranklet.runtime.text.ranked import ranked_text

if TYPE_CHECKING:
    from ranklet.runtime.bundles.location import Location
    from ranklet.runtime.text.analysis import Vocabulary

_NEAR = 500  # ids that are compared with an unknown one, to either side of its place
_SHOWN = 80  # characters of an id in a message
# A clause of up to 60 characters, or else as many whole words, or else one word's beginning.
_CLAUSE = re.compile(
    r"\s*(\S.{1,58}?(?=[.,;:!?()]\s|\s[-–—(]|[。、！？]|\s*\n|\s*$)|.{1,60}(?=\s)|.{1,60})"
)


class Documents:
    """The collection of one bundle; immutable and shared by all threads.

    Args:
        ids: the caller's document ids. The passages of a document have the same id, and their
            numbers follow each other.
        by_id: document numbers in the order of their ids' UTF-8 bytes, (documents,) uint32.
        titles: the titles; a document without one has "".
        texts: the texts without their titles.
        forwards: stored tokens by field, ``words`` or ``wordpieces``; lemmas follow from the words.
        vocabulary: maps words to lemmas.
        titled: whether titles are ranked and not only shown.
        first: number of the first passage of the same document, (documents,) uint32; None if every
            document is whole.
        locations: where each passage stands in its document, see `Location`; None if no document
            was split.
    """

    def __init__(
        self,
        ids: Strings,
        by_id: NDArray[np.uint32],
        titles: Strings,
        texts: Strings,
        forwards: Mapping[str, Forward],
        vocabulary: "Vocabulary",
        *,
        titled: bool = True,
        first: NDArray[np.uint32] | None = None,
        locations: Strings | None = None,
    ) -> None:
        self.ids, self.titles, self.texts, self.titled = ids, titles, texts, titled
        self.by_id, self._forwards, self.vocabulary = by_id, forwards, vocabulary
        self.first, self.locations = first, locations

    def __len__(self) -> int:
        """Return the number of documents, where each passage counts as one."""
        return len(self.ids)

    @property
    def whole(self) -> int:
        """How many documents there are, where the passages of a document count as one."""
        return len(self) if self.begins is None else len(self.begins)

    @cached_property
    def begins(self) -> NDArray[np.intp] | None:
        """The number of each document's first passage; None if every document is whole."""
        return None if self.first is None else np.flatnonzero(self.first == np.arange(len(self)))

    def extend_whole(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask extended to all passages of each document that has a passage in it."""
        if self.first is None:
            return mask
        whole = np.zeros(len(mask), np.bool_)
        whole[self.first[mask]] = True
        return whole[self.first]

    def number(self, document_id: str) -> int:
        """Return the number of a document id, or of the document's first passage.

        Raises:
            InputError: the id is not a string.
            UnknownDocumentError: the id is not in the collection.
        """
        number = self.find(document_id)
        if number < 0:
            raise UnknownDocumentError(self.unknown(document_id))
        return number

    def find(self, document_id: str) -> int:
        """Return the number of a document id, or of the first passage; −1 if there is none.

        Raises:
            InputError: the id is not a string.
        """
        if not isinstance(document_id, str):
            raise InputError(
                f"a document id must be a string, not {document_id!r:.60}; ids of numbers are "
                "strings, too, such as '7'"
            )
        wanted, place = self._placed(document_id)
        try:
            if place < len(self.by_id) and self.ids.raw(int(self.by_id[place])) == wanted:
                number = int(self.by_id[place])
                return number if self.first is None else int(self.first[number])
        except IndexError as error:
            raise damaged("by_id has a document past the last") from error
        return -1

    def _placed(self, document_id: str) -> tuple[bytes, int]:
        """Return the bytes of an id, and where it stands or would stand in `by_id`."""
        # Not "replace", because a lone surrogate must not match the "?" that would replace it.
        wanted = document_id.encode("utf-8", "surrogatepass")
        # A bisection by blocks would wait for the network at each step.
        fetch_whole(self.by_id, *self.ids.packed)
        try:
            key = self.ids.raw
            return wanted, bisect_left(self.by_id, wanted, key=lambda number: key(int(number)))
        except IndexError as error:
            raise damaged("by_id has a document past the last") from error

    def unknown(self, document_id: str) -> str:
        """Return a message that there is no document of an id, with ids that look like it."""
        place = self._placed(document_id)[1]
        nearest = self.by_id[max(0, place - _NEAR) : place + _NEAR]
        near = suggest(document_id, sorted(self.ids[int(each)][:_SHOWN] for each in nearest), 2)
        first = f"the first is {self.ids[0]!r}" if len(self) else "so there is none"
        return (
            f"unknown document id {document_id[:_SHOWN]!r}{near}: the bundle has {self.whole:,} "
            f"documents; {first}"
        )

    def lacking(self, ids: Iterable[str]) -> set[str]:
        """Return the ids that no document has."""
        return {each for each in ids if self.find(each) < 0}

    def place(self, number: int) -> int | None:
        """Return which passage of its document one is, from 1; None if the document is whole."""
        if self.first is None:
            return None
        begin, *others = self.first[number : number + 2].tolist()
        return number - begin + 1 if begin != number or others == [begin] else None

    def passages(self, number: int) -> NDArray[np.uint32]:
        """Return the numbers of all passages of the document whose first passage is `number`."""
        if self.first is None:
            return np.array([number], np.uint32)
        begin, end = np.searchsorted(self.first, [number, number + 1]).tolist()
        return np.arange(begin, end, dtype=np.uint32)

    def location(self, number: int) -> "Location | None":
        """Return where a passage stands in its document; None if that is whole or not known."""
        if self.locations is None:
            return None
        from ranklet.runtime.bundles.location import Location  # few collections have any

        return Location.read(self.locations[number])

    def stored(
        self, *, shown: bool = True, tokens: bool = False
    ) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return the offsets and the content of ids, of what is shown, and of tokens.

        Args:
            shown: whether titles, texts and locations are among them.
            tokens: whether the tokens in all fields are.
        """
        strings = [self.ids, *((self.titles, self.texts) if shown else ())]
        strings += [self.locations] if shown and self.locations is not None else []
        every: list[tuple[NDArray[Any], NDArray[Any]]] = [each.packed for each in strings]
        if tokens:
            every += [(each.offsets, each.tokens) for each in self._forwards.values()]
        return every

    def record(self, number: int) -> tuple[str, str, str]:
        """Return a document's id, title and text.

        Raises:
            BundleError: there is no such number.
        """
        if number >= len(self):
            raise damaged(f"document {number} is not in the bundle")
        return self.ids[number], self.titles[number], self.texts[number]

    def read_ranked_texts(self, numbers: Iterable[int]) -> list[str]:
        """Return the ranked texts of some documents, which may include titles."""
        wanted = list(numbers)
        fetch_rows(wanted, ragged=self.stored()[1:])
        return [ranked_text(self.titles[n], self.texts[n], self.titled) for n in wanted]

    def samples(self, count: int, among: Sequence[int] | None = None) -> list[str]:
        """Return the titles of evenly spaced documents, or the first clauses of untitled texts.

        Args:
            count: the most titles to return.
            among: the numbers of the documents to choose from, with all passages of each; None
                chooses from all. Of a document that is split, the first passage is taken.
        """
        among = range(len(self)) if among is None else among
        spaced = among[:: max(1, len(among) // max(1, count))]  # fewer than twice as many
        if self.first is not None:
            spaced = list(dict.fromkeys(self.first[np.array(spaced, np.int64)].tolist()))
        chosen = spaced[:count]
        fetch_rows(chosen, ragged=self.stored()[1:])
        return [self.titles[number] or _clause(self.texts[number]) for number in chosen]

    def tokens(self, field: str, numbers: NDArray[np.integer]) -> Gathered:
        """Return the tokens of some documents in a field, or their classes."""
        if field not in ("words", "lemmas", CLASSES):
            return self.forward(field).gather(numbers)
        words, lengths = self.words(numbers)
        lemmas, beginning_of = self.vocabulary.lemma_of[words], self.vocabulary.beginning_of
        if field == "words":
            return Gathered(words, lengths)
        if field == "lemmas" or beginning_of is None:
            return Gathered(lemmas, lengths)
        return Gathered(np.column_stack([lemmas, beginning_of[words]]).ravel(), 2 * lengths)

    def words(self, numbers: NDArray[np.integer]) -> Gathered:
        """Return the words of some documents, which are found in their texts if none are stored."""
        if (stored := self._forwards.get("words")) is not None:
            return stored.gather(numbers)
        known, split = self.vocabulary, self.vocabulary.splitter.words
        found = [split(text) for text in self.read_ranked_texts(numbers.tolist())]
        lengths = np.array([*map(len, found)], np.int64)
        every = map(known.forms.find, chain.from_iterable(found))
        words = np.fromiter(every, np.int32, int(lengths.sum()))
        if len(known.stopped):  # which may be written without their accents
            spelled = list(chain.from_iterable(found))
            for at in np.flatnonzero((words < 0) | (known.lemma_of[words] < 0)).tolist():
                words[at] = known.find(spelled[at])
        kept = (words >= 0) & (known.lemma_of[words] >= 0)
        owners = np.repeat(np.arange(len(lengths)), lengths)[kept]
        return Gathered(words[kept], np.bincount(owners, minlength=len(lengths)))

    def that_may_have(
        self, words: NDArray[np.integer], numbers: NDArray[np.integer]
    ) -> NDArray[np.integer]:
        """Return those of some documents that may have one of some words, which is quick."""
        from ranklet.runtime.text.searchable import make_searchable, row_pattern

        spelled = [self.vocabulary.forms[each] for each in words.tolist()]
        if "words" in self._forwards or any(row_pattern([each]) is None for each in spelled):
            return numbers
        split, kept = self.vocabulary.splitter, list[bool]()
        for text in self.read_ranked_texts(numbers.tolist()):
            found = make_searchable(text, split)
            kept.append(found is None or any(each in found for each in spelled))
        return numbers[np.array(kept, np.bool_)]

    def forward(self, stored_field: str) -> Forward:
        """Return the forward store of a field, with the tokens of all documents.

        Raises:
            BundleError: the bundle does not store that field.
        """
        if stored_field not in self._forwards:
            raise BundleError(
                f"the bundle does not have the {stored_field} of its documents, which a ranker "
                "needs; index the collection again"
            )
        return self._forwards[stored_field]


def _clause(text: str) -> str:
    """Return the first words of a text, up to a mark if there is one soon.

    >>> _clause("Key Points - There are different types of treatment for patients with cancer.")
    'Key Points'
    """
    found = _CLAUSE.match(text)
    return found[1] if found else ""
