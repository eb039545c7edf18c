"""The words of a collection by how many documents have them, as far as a caller may see these."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.syntax.word_postings import Postings
from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.words import SPLITTER

Ids = NDArray[np.integer]  # of words, (words,)

TRIED = 200  # words, of which the caller may see none
WRITTEN = 8  # documents that say how a word is written
FEW, MOST = 30, 1000  # documents in which a word is looked for first, and at most


class PartWords(NamedTuple):
    """The words of one part of a collection.

    Attributes:
        documents: the part.
        postings: an index of every word.
        mask: the documents that the caller may see, (documents,) bool; None for all.
    """

    documents: Documents
    postings: Postings
    mask: Mask | None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.documents.vocabulary

    def terms(self, ids: Ids) -> Ids:
        """Return the term of each word in the index."""
        return ids if self.postings.term_of is None else self.postings.term_of[ids]

    def counts(self, ids: Ids, k: int | None = None) -> dict[str, int]:
        """Return how many documents have each of the terms of some words, by its spelling.

        Only the k most frequent terms come back, and all that are as frequent.
        """
        terms = distinct(self.terms(ids)).astype(np.int32)
        counts = self.postings.terms.frequencies(terms)
        if k is not None and k < len(terms):
            kept = counts >= np.partition(counts, len(counts) - k)[len(counts) - k]
            terms, counts = terms[kept], counts[kept]
        spelled = map(self.vocabulary.forms.__getitem__, terms.tolist())
        return dict(zip(spelled, counts.tolist(), strict=True))

    def count(self, term: str) -> int:
        """Return how many documents have a term."""
        place = self.vocabulary.forms.find(term)
        return int(self.postings.terms.frequencies(np.array([place], np.int32))[0]) * (place >= 0)

    def knows(self, word: str) -> bool:
        """Return whether a document that the caller may see has a word, or another form of it."""
        if self.mask is None:
            return self.vocabulary.knows(word)
        known = self.vocabulary.find(word)
        if known >= 0 and self.vocabulary.lemma_of[known] == STOPPED:
            return True
        ids = self._forms(word)
        every = self.postings.having(ids) if len(ids) else ()
        return any(
            bool(self.mask[having[:FEW]].any() or self.mask[having].any()) for having in every
        )

    def _forms(self, word: str) -> Ids:
        """Return the ids of words that together have every posting of a word's forms."""
        known = self.vocabulary.find(word)
        one = known >= 0 and self.postings.term_of is not None  # which stands for all forms
        return np.array([known]) if one else self.vocabulary.list_forms(word)

    def frequency(self, word: str) -> int:
        """Return how many documents that the caller may see have a word.

        Other forms of it count, too, where the index takes them for the same.
        """
        ids = self._forms(word)
        if self.mask is None:
            terms = distinct(self.terms(ids)).astype(np.int32)
            return int(self.postings.terms.frequencies(terms[terms >= 0]).sum())
        return sum(int(self.mask[having].sum()) for having in self.postings.having(ids))

    def shown(self, term: str, ids: Ids) -> str | None:
        """Return the most frequent word of a term, among some; None if the caller sees none."""
        place = self.vocabulary.forms.find(term)
        words = ids[self.terms(ids) == place] if place >= 0 else ids[:0]
        order = np.argsort(-self.vocabulary.frequency(words), kind="stable")
        seen = (word for word in words[order].tolist() if self._is_seen(word))
        return next((self.vocabulary.forms[word] for word in seen), None)

    def has_all(self, words: Iterable[str]) -> bool:
        """Return whether the caller sees a document with some words, in any form, each."""
        left = np.ones(len(self.documents), np.bool_) if self.mask is None else self.mask.copy()
        for word in words:
            ids, there = self._forms(word), np.zeros(len(left), np.bool_)
            for having in self.postings.having(ids) if len(ids) else ():
                there[having] = True
            left &= there
        return bool(left.any())

    def is_asked(self, word: str) -> bool:
        """Return whether a word is no stop word."""
        known = self.vocabulary.find(word)
        stopped = self.vocabulary.lemma_of[known] == STOPPED or known in self.vocabulary.stopped
        return known < 0 or not stopped

    def spellings(self, word: str) -> Counter[str]:
        """Return how a few documents that the caller may see write a word.

        Capitals count in languages in which nouns have them.
        """
        place, split = self.vocabulary.find(word), self.vocabulary.splitter
        if place < 0 or split is SPLITTER:  # English has hardly any accents
            return Counter()
        (having,) = self.postings.having(np.array([place]))
        seen = having if self.mask is None else having[self.mask[having]]
        texts = self.documents.read_ranked_texts(seen[:WRITTEN].tolist())
        written = (
            next((text[begin:end] for begin, end, own in split.placed(text) if own == word), "")
            for text in texts
        )
        capitals = self.vocabulary.has_capitals
        return Counter(each if capitals else each.lower() for each in written if each)

    def has(self, word: str) -> bool:
        """Return whether the caller sees a document with a word in this very form."""
        place = self.vocabulary.find(word)
        return place >= 0 and self._is_seen(place)

    def _is_seen(self, word: int) -> bool:
        ids = np.array([word])
        if self.mask is None or not self.vocabulary.frequency(ids)[0]:
            return bool(self.vocabulary.frequency(ids)[0])
        (having,) = self.postings.having(ids)
        seen = having[self.mask[having]]
        read = seen[:: max(1, -(-len(seen) // MOST))]
        return any(
            bool((self.documents.words(may).tokens == word).any())
            for part in (read[:FEW], read[FEW:])
            for may in [self.documents.that_may_have(ids, part)]
        )


def choose_spelling(word: str, parts: Sequence[PartWords]) -> str:
    """Return how most of some documents write a word that they have."""
    most = sum((part.spellings(word) for part in parts), Counter[str]()).most_common(1)
    return most[0][0] if most else word


def by_frequency(parts: Sequence[PartWords], find: Callable[[Vocabulary], Ids]) -> Iterator[str]:
    """Yield the words that are meant, one per term of the index, most frequent terms first.

    How frequent a term is says the whole collection, as for scores. A word is in a document that
    the caller may see.

    Args:
        parts: the parts of the collection.
        find: returns the ids of the words that are meant, without stop words.
    """
    ids = [find(part.vocabulary) for part in parts]
    found: dict[str, int] = {}
    for part, own in zip(parts[1:], ids[1:], strict=True):
        for term, count in part.counts(own).items():
            found[term] = found.get(term, 0) + count
    # What is not among so many of the base is not tried, unless a further part has it.
    best = parts[0].counts(ids[0], TRIED + len(found))
    for term in list(found):
        found[term] += best.pop(term, 0) or parts[0].count(term)
    found |= best
    for term in islice(sorted(found, key=lambda each: (-found[each], each)), TRIED):
        shown = (part.shown(term, own) for part, own in zip(parts, ids, strict=True))
        if word := next(filter(None, shown), None):
            yield word
