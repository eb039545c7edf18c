"""Find the documents that have the required clauses of a query and none of the forbidden ones."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.syntax.exact_phrases import has_phrase
from ranklet.runtime.syntax.query_syntax import Clause
from ranklet.runtime.syntax.searched_texts import SearchedTexts
from ranklet.runtime.syntax.word_postings import Postings
from ranklet.runtime.text.analysis import STOPPED
from ranklet.runtime.text.compounds import parts

Words = NDArray[np.int32]


class Clauses:
    """The clauses of one query, which are looked up in an index.

    Args:
        texts: the collection, whose texts are read for phrases.
        postings: an index of every word; None if the bundle has none.
        beginning_with: returns the words that begin with a prefix.
        deadline: the call's deadline.

    Attributes:
        left_out: what there was no time for.
    """

    def __init__(
        self,
        texts: SearchedTexts,
        postings: Postings | None,
        beginning_with: Callable[[str], Words],
        deadline: Deadline,
    ) -> None:
        self._documents, self._texts = texts.documents, texts
        self._postings, self._beginning_with, self._deadline = postings, beginning_with, deadline
        self.left_out: list[str] = []

    def allowed(self, required: Sequence[Sequence[Clause]], forbidden: Sequence[Clause]) -> Mask:
        """Return the documents that have one clause of each group and no forbidden one.

        Of a document that is split, one passage has all that is required. A document that there was
        no time to read is none of them.
        """
        mask = np.ones(len(self._documents), np.bool_)
        for group in required:
            mask &= reduce(np.logical_or, [self._having(each) for each in group])
        out = np.zeros(len(mask), np.bool_)
        for each in forbidden:
            out |= self._having(each, unread=True)
        if (first := self._documents.first) is not None:
            whole = np.zeros(len(mask), np.bool_)
            whole[first[out]] = True
            out = whole[first]
        allowed: Mask = mask & ~out
        return allowed

    def _having(self, clause: Clause, *, unread: bool = False) -> Mask:
        """Return which documents have a clause; `unread` counts for those not read."""
        if self._postings is None:
            raise InputError(
                "+word, OR and field:word are looked up in the index of BM25, which this bundle "
                "does not have; leave them out"
            )
        if clause.kind == "prefixes":
            return self._any(self._beginning_with(clause.text), clause.field)
        words = [self._documents.vocabulary.list_forms(each) for each in self._words(clause)]
        mask: Mask = reduce(np.logical_and, [self._any(ids, clause.field) for ids in words])
        if clause.kind != "phrases":
            return mask
        numbers = np.flatnonzero(mask)
        fits = list(self._with_phrase(clause, numbers.tolist()))
        mask[numbers[: len(fits)]] = fits
        mask[numbers[len(fits) :]] = unread
        if len(fits) < len(numbers):
            left, every = len(numbers) - len(fits), len(numbers)
            self.left_out.append(f"looking up the query: {left:,} of {every:,} were not read")
        return mask

    def _any(self, words: Words, field: str) -> Mask:
        """Return which documents have one of some words, perhaps in a field."""
        mask = np.zeros(len(self._documents), np.bool_)
        for numbers in self._postings.having(words, field) if self._postings else ():
            mask[numbers] = True
        return mask

    def _words(self, clause: Clause) -> list[str]:
        """Return the words of a clause without stop words and compounds.

        Raises:
            InputError: there is none.
        """
        vocabulary = self._documents.vocabulary
        placed = vocabulary.phrase_splitter.placed(clause.text)
        words = dict.fromkeys(word for *_, word in parts(placed, names=True))
        ids = {word: vocabulary.find(word) for word in words}
        kept = [
            each for each in words if ids[each] < 0 or vocabulary.lemma_of[ids[each]] != STOPPED
        ]
        if not kept:
            raise InputError(
                f"{clause.typed:.60} has only stop words, which no index has; leave it out"
            )
        return kept

    def _with_phrase(self, clause: Clause, numbers: Sequence[int]) -> Iterator[bool]:
        """Yield whether each of some documents has a phrase, while there is time."""
        splitter = self._documents.vocabulary.phrase_splitter
        for at, number in enumerate(numbers):
            if at and self._deadline.limited and self._deadline.passed:
                return
            texts = self._texts.read(number, clause.field)
            yield any(has_phrase(text, clause.text, splitter) for text in texts)
