"""Invert a collection's tokens into postings, block by block, so that only the result is large."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.bm25 import boosted, idf, saturation
from ranklet.runtime.lexical.impact_index import ImpactIndex, largest_impacts

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

BLOCK = 1 << 16  # documents that are inverted at a time
_IMPACTS = 1 << 20  # impacts that are computed at a time


@dataclass(frozen=True, eq=False)
class Postings:
    """Term frequencies by term.

    Attributes:
        offsets: postings of term t are at ``offsets[t]:offsets[t + 1]``, (terms + 1,) int64.
        documents: ascending within a term, (postings,) uint32.
        frequencies: the frequency of the term in the document, ≥ 1, (postings,) float32.
        lengths: number of tokens in each document, (documents,) float32.
    """

    offsets: NDArray[np.int64]
    documents: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    lengths: NDArray[np.float32]

    @property
    def average_length(self) -> float:
        """The mean number of tokens per document, 0 for an empty collection."""
        return float(self.lengths.mean()) if len(self.lengths) else 0.0

    def boosted(self, titles: "Postings", title_boost: float) -> "Postings":
        """Return the postings in which tokens of titles count so often.

        Args:
            titles: the postings of the titles, which are a part of the documents.
            title_boost: how often they count, ≥ 1.
        """
        of_title = np.zeros_like(self.frequencies)
        of_title[np.searchsorted(self._places(), titles._places())] = titles.frequencies
        return replace(
            self,
            frequencies=boosted(self.frequencies, of_title, title_boost),
            lengths=boosted(self.lengths, titles.lengths, title_boost),
        )

    def _places(self) -> NDArray[np.int64]:
        """Return term · documents + document of each posting, ascending, (postings,) int64."""
        terms = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return terms * len(self.lengths) + self.documents

    def bm25(self, k1: float, b: float) -> ImpactIndex:
        """Return an impact index of BM25 with these parameters."""
        weights = idf(np.diff(self.offsets), len(self.lengths))
        average = self.average_length
        impacts = np.empty(len(self.documents), np.float32)
        for begin in range(0, len(impacts), _IMPACTS):
            part = slice(begin, begin + _IMPACTS)
            lengths = self.lengths[self.documents[part]]
            impacts[part] = saturation(self.frequencies[part], lengths, average, k1, b)
            end = min(begin + _IMPACTS, len(impacts))
            terms = np.searchsorted(self.offsets, np.arange(begin, end), side="right") - 1
            impacts[part] *= weights[terms]
        largest = largest_impacts(self.offsets, impacts)
        return ImpactIndex(self.offsets, self.documents, impacts, largest, len(self.lengths))


def invert(
    tokens: NDArray[np.integer],
    offsets: NDArray[np.int64],
    terms: int,
    renumber: NDArray[np.integer] | None = None,
) -> Postings:
    """Return the documents of each term and its frequency in them.

    The blocks are inverted twice, first to count the postings of each term and then to place them,
    because keeping them would double the memory.

    Args:
        tokens: tokens of all documents, concatenated, (tokens,).
        offsets: where each document's tokens begin and end, (documents + 1,) int64.
        terms: number of terms.
        renumber: the term of each token number, or None if tokens are terms.
    """
    df = np.zeros(terms, np.int64)
    for _, block in _blocks(tokens, offsets, terms, renumber):
        df += np.diff(block.indptr)
    ends = np.concatenate([[0], np.cumsum(df)])
    documents = np.empty(int(ends[-1]), np.uint32)
    frequencies = np.empty(int(ends[-1]), np.float32)
    place = ends[:-1].copy()  # of the next posting of each term
    for first, block in _blocks(tokens, offsets, terms, renumber):
        counts = np.diff(block.indptr)
        places = np.repeat(place - block.indptr[:-1], counts)
        places += np.arange(len(places))
        documents[places] = block.indices + first
        frequencies[places] = block.data
        place += counts
    return Postings(ends, documents, frequencies, np.diff(offsets).astype(np.float32))


def _blocks(
    tokens: NDArray[np.integer],
    offsets: NDArray[np.int64],
    terms: int,
    renumber: NDArray[np.integer] | None,
) -> "Iterator[tuple[int, csc_matrix[Any]]]":
    """Yield the first document of each block and the block's frequencies by term."""
    from scipy.sparse import csr_matrix

    for first in range(0, len(offsets) - 1, BLOCK):
        ends = offsets[first : first + BLOCK + 1]
        part = tokens[ends[0] : ends[-1]]
        columns = part if renumber is None else renumber[part]
        shape = (len(ends) - 1, terms)
        ones = np.ones(len(part), np.float32)
        by_term = csr_matrix((ones, columns, ends - ends[0]), shape).tocsc()
        by_term.sum_duplicates()  # also sorts the documents of each term
        yield first, by_term
