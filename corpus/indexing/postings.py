"""Invert a collection's tokens into postings, in files, so that neither takes memory.

Blocks of documents are inverted one by one and written as they are. Then the blocks are joined for
some terms at a time, and what results is the next part of the postings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.ordering import order_of_numbers
from ranklet.corpus.indexing.packer import NumberPacker, packed, release, spans
from ranklet.runtime.lexical.bm25 import boosted, idf, saturation
from ranklet.runtime.lexical.impact_index import ImpactIndex, largest_impacts

BLOCK = 1 << 16  # documents that are inverted at a time, at most; 16 bits number them
_TOKENS = 1 << 22  # tokens that are inverted at a time, unless one document has more
_JOINED = 1 << 21  # postings that are joined at a time, unless one term has more
_IMPACTS = 1 << 20  # impacts that are computed at a time, unless one term has more


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

    def bm25(self, k1: float, b: float, average: float | None = None) -> ImpactIndex:
        """Return an impact index of BM25 with these parameters.

        Args:
            k1: how slowly repetitions saturate.
            b: strength of the length normalisation.
            average: the mean length that is meant; None for `average_length`.
        """
        weights = idf(np.diff(self.offsets), len(self.lengths))
        average = self.average_length if average is None else average
        largest = np.zeros(len(weights), np.float32)

        def impacts() -> Iterator[NDArray[np.float32]]:
            for begin, end in spans(self.offsets, _IMPACTS):
                own = self.offsets[begin : end + 1]
                part = slice(own[0], own[-1])
                lengths = self.lengths[self.documents[part]]
                found = saturation(self.frequencies[part], lengths, average, k1, b)
                found *= np.repeat(weights[begin:end], np.diff(own))
                largest[begin:end] = largest_impacts(own - own[0], found)
                yield found
                release(self.documents)
                release(self.frequencies)

        every = packed(impacts(), np.float32)  # also completes `largest`
        return ImpactIndex(self.offsets, self.documents, every, largest, len(self.lengths))


class Titles(NamedTuple):
    """How often the tokens of titles count, which are the first of their documents."""

    lengths: NDArray[np.int64]  # number of tokens of each title, (documents,)
    boost: float  # how often each of them counts, ≥ 1


def invert(
    tokens: NDArray[np.integer],
    offsets: NDArray[np.int64],
    terms: int,
    renumber: NDArray[np.integer] | None = None,
    titles: Titles | None = None,
) -> Postings:
    """Return the documents of each term and its frequency in them, in temporary files.

    Args:
        tokens: tokens of all documents, concatenated, (tokens,).
        offsets: where each document's tokens begin and end, (documents + 1,) int64.
        terms: number of terms.
        renumber: the term of each token number, (numbers,), or its terms, (numbers, terms of
            each); None if tokens are terms.
        titles: how often tokens of titles count; None for once.
    """
    runs, df = _Runs(), np.zeros(terms, np.int64)
    each = 1 if renumber is None else renumber[:1].size
    if titles is not None:
        titles = titles._replace(lengths=each * titles.lengths)
    for begin, end in spans(offsets, _TOKENS, BLOCK):
        own = offsets[begin : end + 1]
        part = tokens[own[0] : own[-1]]
        columns = part if renumber is None else renumber[part].ravel()
        in_titles = None if titles is None else titles.lengths[begin:end]
        block = _by_term(columns, each * (own - own[0]), in_titles)
        frequencies = block.frequencies
        if titles is not None:
            frequencies = boosted(frequencies, block.of_titles, titles.boost)
        df += runs.add(begin, block, frequencies, terms)
        release(tokens)
    ends = np.concatenate([[0], np.cumsum(df)])
    documents, counts = runs.joined(ends)
    lengths = (each * np.diff(offsets)).astype(np.float32)
    if titles is not None:
        lengths = boosted(lengths, titles.lengths, titles.boost)
    return Postings(ends, documents, counts, lengths)


class _Block(NamedTuple):
    """The postings of a block of documents, by term, and by document within a term."""

    terms: NDArray[np.uint32]  # (postings,)
    documents: NDArray[np.uint16]  # numbers within the block, (postings,)
    frequencies: NDArray[np.float32]  # (postings,)
    of_titles: NDArray[np.float32]  # how many of them are in titles, (postings,)


class _Runs:
    """The postings of blocks of documents, one block after the other, in temporary files."""

    def __init__(self) -> None:
        self._terms, self._counts = NumberPacker(np.uint32), NumberPacker(np.uint32)
        self._documents, self._frequencies = NumberPacker(np.uint16), NumberPacker(np.float32)
        self._first: list[int] = []  # each block's first document
        self._ends = [(0, 0)]  # where each block's terms and postings end

    def add(
        self, first: int, block: _Block, frequencies: NDArray[np.float32], size: int
    ) -> NDArray[np.int64]:
        """Add the postings of the next block and return the number of each term, (size,) int64."""
        df: NDArray[np.int64] = np.bincount(block.terms, minlength=size)
        terms = np.flatnonzero(df)
        self._terms.add(terms)
        self._counts.add(df[terms])
        self._documents.add(block.documents)
        self._frequencies.add(frequencies)
        self._first.append(first)
        of_terms, of_postings = self._ends[-1]
        self._ends.append((of_terms + len(terms), of_postings + len(frequencies)))
        return df

    def joined(self, ends: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Return the documents and frequencies of all postings, by term; see `Postings`.

        Args:
            ends: where the postings of each term begin and end, (terms + 1,).
        """
        terms, counts = self._terms.array(), self._counts.array()
        documents, frequencies = self._documents.array(), self._frequencies.array()
        numbers, values = NumberPacker(np.uint32), NumberPacker(np.float32)
        left = [list(array) for array in self._ends[:-1]]  # what each block has not given yet
        for begin, end in spans(ends, _JOINED):
            place = ends[begin:end] - ends[begin]  # of the next posting of each term
            count = int(ends[end] - ends[begin])
            own_numbers, own_values = np.empty(count, np.uint32), np.empty(count, np.float32)
            for run, first in enumerate(self._first):
                (of_terms, of_postings), last = left[run], self._ends[run + 1][0]
                more = int(np.searchsorted(terms[of_terms:last], np.uint32(end)))
                own = slice(of_terms, of_terms + more)
                which, times = terms[own] - np.uint32(begin), counts[own].astype(np.int64)
                places = np.repeat(place[which] - (np.cumsum(times) - times), times)
                places += np.arange(len(places))
                given = slice(of_postings, of_postings + len(places))
                own_numbers[places] = documents[given].astype(np.uint32) + np.uint32(first)
                own_values[places] = frequencies[given]
                place[which] += times
                left[run] = [own.stop, given.stop]
            numbers.add(own_numbers)
            values.add(own_values)
            for array in (terms, counts, documents, frequencies):
                release(array)
        return numbers.array(), values.array()


def _by_term(
    terms: NDArray[np.integer], offsets: NDArray[np.int64], titles: NDArray[np.int64] | None
) -> _Block:
    """Return the postings of a block of documents.

    Args:
        terms: tokens of all documents of the block, concatenated, (tokens,).
        offsets: where each document's tokens begin and end, (documents + 1,).
        titles: how many tokens of each document are its title's, the first ones; None for none.
    """
    order, lengths = order_of_numbers(terms), np.diff(offsets)
    ordered = terms[order]
    documents = np.repeat(np.arange(len(lengths), dtype=np.uint16), lengths)[order]
    new = np.ones(len(order), np.bool_)  # whether a token begins a posting
    new[1:] = (ordered[1:] != ordered[:-1]) | (documents[1:] != documents[:-1])
    begins = np.flatnonzero(new)
    frequencies = np.diff(begins, append=len(order)).astype(np.float32)
    of_titles = np.zeros(len(begins), np.float32)
    if titles is not None and len(begins):
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        in_title = (places < np.repeat(titles, lengths))[order]
        of_titles = np.add.reduceat(in_title, begins, dtype=np.float32)
    return _Block(ordered[begins].astype(np.uint32), documents[begins], frequencies, of_titles)
