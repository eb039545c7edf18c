"""Read the words of documents that a query asks about, once for all of its parts."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import TermIndex
from ranklet.runtime.lexical.field_index import FieldIndex
from ranklet.runtime.sets import distinct
from ranklet.runtime.storage.forward import Forward

_TOKENS = 1 << 18  # that are read between two looks at the deadline
STEPS = (1, 2, 3, 4, 5)  # to the next word; compounds or a name's parts may be in between
# Words of a phrase that are looked for; more decide little, and cost time if all are alike.
ROW = 16
_FEW = 4  # Fewer than one document in so many are read one by one, more with those in between.
MOST = 1000  # documents that are read for a term


class Postings(NamedTuple):
    """An index that has every word of every document.

    Attributes:
        terms: an index of words or of lemmas.
        term_of: the term of each word in it, (words,) int32; None if words are terms.
    """

    terms: TermIndex
    term_of: NDArray[np.int32] | None

    @property
    def fields(self) -> Mapping[str, float]:
        """The weights of the fields in which words are found; none if there are no fields."""
        return self.terms.formula.weights if isinstance(self.terms, FieldIndex) else {}

    def having(
        self, words: NDArray[np.integer], field: str = ""
    ) -> list[NDArray[np.unsignedinteger]]:
        """Return the documents of the terms of some words, ascending, one array per term.

        Of a field, they are those that have the term there.
        """
        ids = distinct(words if self.term_of is None else self.term_of[words]).astype(np.int32)
        self.terms.fetch(ids)
        if field and isinstance(self.terms, FieldIndex):
            self.terms.fetch_fields(ids)
            return [self.terms.documents_in(field, each) for each in ids.tolist()]
        return [self.terms.postings(each)[0] for each in ids.tolist()]


def estimated_counts(
    words: NDArray[np.integer],
    documents: Documents,
    postings: Postings | None,
    mask: Mask | None = None,
    most: int = MOST,
) -> NDArray[np.float64]:
    """Return how often each of some words occurs, (words,) float64, exact where it is rare.

    A frequent word is counted in evenly spaced documents of those that have its term. A word that
    is only in others counts 0, as one that is nowhere.

    Args:
        words: ids of words.
        documents: the collection.
        postings: an index of every word; without one any document may have any word.
        mask: the documents that count, (documents,) bool; None for all.
        most: documents that are read for each term of the index.
    """
    counts, terms = np.zeros(len(words)), words
    if postings is None:
        terms = np.zeros(len(words), np.int32)
    elif postings.term_of is not None:
        terms = postings.term_of[words]
    for term in distinct(terms).tolist():
        places = np.flatnonzero(terms == term)
        if postings is None:
            having: NDArray[np.integer] = np.arange(len(documents))
        else:
            (having,) = postings.having(words[places[:1]])
        seen = having if mask is None else having[mask[having]]
        read = seen[:: max(1, -(-len(seen) // most))]
        tokens = documents.forward("words").gather(read).tokens
        found = [np.count_nonzero(tokens == word) for word in words[places].tolist()]
        counts[places] = np.array(found) * (len(seen) / max(1, len(read)))
    return counts


class Places(NamedTuple):
    """Where the wanted words are in some documents; all but `tokens` have one entry per place."""

    ids: NDArray[np.integer]  # ascending
    at: NDArray[np.intp]  # places in `tokens`, ascending among equal ids
    ends: NDArray[np.intp]  # the place after the last token of the same document
    documents: NDArray[np.intp]
    tokens: NDArray[np.integer]  # of all these documents

    def of(self, word: int) -> slice:
        """Return the entries of a word."""
        begin, end = np.searchsorted(self.ids, [word, word + 1]).tolist()
        return slice(begin, end)

    def in_a_row(self, words: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the documents that have some words in a row, ascending; of many the first ones.

        Compounds may be between two of them, which follow their parts, and parts before a name.
        """
        first = self.of(words[0])
        at, ends, documents = self.at[first], self.ends[first], self.documents[first]
        for word in words[1:ROW]:
            found = [np.flatnonzero(self._is(word, at + step, ends)) for step in STEPS]
            at = np.concatenate([at[each] + step for step, each in zip(STEPS, found, strict=True)])
            origin = np.concatenate(found)
            if sum(len(each) > 0 for each in found) > 1:
                at, kept = np.unique(at, return_index=True)
                origin = origin[kept]
            ends, documents = ends[origin], documents[origin]
        return documents[np.diff(documents, prepend=-1) > 0]

    def _is(self, word: int, at: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each place whether a word stands there, before the document's end."""
        here: NDArray[np.bool_] = self.tokens.take(at, mode="clip") == word
        return here & (at < ends)


class Reading:
    """One pass over the words of documents.

    Args:
        forward: the words of all documents.
        documents: which ones are read, (documents,) bool; None for all.
        wanted: whether each word is looked for, (vocabulary,) bool.

    Attributes:
        unread: which documents there was no time for, (documents,) bool.
    """

    def __init__(self, forward: Forward, documents: Mask | None, wanted: NDArray[np.bool_]) -> None:
        self._forward, self._wanted = forward, wanted
        self.unread = np.ones(len(forward), np.bool_) if documents is None else documents.copy()

    def places(self, deadline: Deadline) -> Iterator[Places]:
        """Yield the places in all documents, some documents at a time, while there is time.

        The first of them are read in any case.
        """
        numbers = np.flatnonzero(self.unread)
        if not len(numbers) or not self._wanted.any():
            self.unread[:] = False
            return
        few = len(numbers) * _FEW < numbers[-1] - numbers[0]
        read = numbers if few else np.arange(numbers[0], numbers[-1] + 1)
        ends = np.cumsum(self._forward.offsets[read + 1] - self._forward.offsets[read])
        begin = 0
        while begin < len(read):
            if begin and deadline.passed:
                return
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _TOKENS, side="right")))
            yield self._found(read[begin:end], ends[begin:end] - before, few)
            self.unread[read[begin:end]] = False
            begin = end

    def _found(self, read: NDArray[np.intp], ends: NDArray[np.intp], few: bool) -> Places:
        if few:
            tokens = self._forward.gather(read).tokens
        else:
            offsets = self._forward.offsets
            tokens = self._forward.tokens[offsets[read[0]] : offsets[read[-1] + 1]]
        at = np.flatnonzero(self._wanted[tokens])
        owner = np.searchsorted(ends, at, side="right")
        if not few:
            meant = self.unread[read[owner]]
            at, owner = at[meant], owner[meant]
        order = np.argsort(tokens[at], kind="stable")
        at, owner = at[order], owner[order]
        return Places(tokens[at], at, ends[owner], read[owner], tokens)
