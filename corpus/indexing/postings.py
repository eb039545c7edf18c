"""Invert a collection's tokens into postings, in files, so that neither takes memory.

Blocks of documents are inverted one by one and written as they are. Then the blocks are joined for
some terms at a time, and what results is the next part of the postings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.packer import NumberPacker, packed, release, spans
from ranklet.corpus.indexing.ragged import ranges
from ranklet.runtime.lexical.bm25 import boosted, field_amount, idf, saturate_sum, saturation
from ranklet.runtime.lexical.field_index import UNSIGNED, Column, FieldIndex, Formula
from ranklet.runtime.lexical.impact_index import ImpactIndex, largest_impacts
from ranklet.runtime.storage.forward import Forward

BLOCK = 1 << 16  # documents that are inverted at a time, at most; 16 bits number them
_TOKENS = 1 << 22  # tokens that are inverted at a time, unless one document has more
_JOINED = 1 << 21  # postings that are joined at a time, unless one term has more
_DOCUMENT_BITS, _FIELD_BITS = np.uint64(16), np.uint64(16)
_TITLES = (1 << 16) - 1  # the field of tokens of titles, which are part of the text
_IMPACTS = 1 << 20  # impacts that are computed at a time, unless one term has more


@dataclass(frozen=True, eq=False)
class Postings:
    """Term frequencies by term.

    Attributes:
        offsets: postings of term t are at ``offsets[t]:offsets[t + 1]``, (terms + 1,) int64.
        documents: ascending within a term, (postings,) uint32.
        frequencies: the frequency of the term in the document's text, (postings,) float32; ≥ 1
            unless there are fields.
        lengths: number of tokens in each document's text, (documents,) float32.
        columns: the frequencies and lengths of the fields beside the text.
    """

    offsets: NDArray[np.int64]
    documents: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    lengths: NDArray[np.float32]
    columns: Sequence[Column] = ()

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

    def bm25f(
        self, formula: Formula, average: float, averages: Sequence[float] | None = None
    ) -> FieldIndex:
        """Return an impact index of BM25F.

        Args:
            formula: how fields count.
            average: the mean length of texts that is meant.
            averages: the mean lengths of the fields that are meant; None for their own.
        """
        own = [each.average for each in self.columns] if averages is None else averages
        columns = [
            each._replace(average=mean) for each, mean in zip(self.columns, own, strict=True)
        ]

        def in_text() -> Iterator[NDArray[np.float32]]:
            for begin in range(0, len(self.documents), _IMPACTS):
                part = slice(begin, begin + _IMPACTS)
                lengths = self.lengths[self.documents[part]]
                yield field_amount(self.frequencies[part], lengths, average, formula.b)
                release(self.frequencies)

        text = packed(in_text(), np.float32)
        bare = ImpactIndex(
            self.offsets, self.documents, text, np.empty(0, np.float32), len(self.lengths)
        )
        fields = FieldIndex(bare, formula, text, columns)
        weights, largest = idf(np.diff(self.offsets), bare.size), np.zeros(len(self.offsets) - 1)

        def impacts() -> Iterator[NDArray[np.float32]]:
            for begin, end in spans(self.offsets, _IMPACTS):
                own = self.offsets[begin : end + 1]
                amounts = fields.amounts(int(own[0]), int(own[-1]))
                found = saturate_sum(amounts, formula.weights.values(), formula.k1)
                found *= np.repeat(weights[begin:end], np.diff(own))
                largest[begin:end] = largest_impacts(own - own[0], found)
                yield found
                release(self.documents)

        fields.impacts = packed(impacts(), np.float32)  # also completes `largest`
        fields.largest = largest.astype(np.float32)
        return fields


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
    fields: Sequence[Forward | None] = (),
) -> Postings:
    """Return the documents of each term and its frequency in them, in temporary files.

    Args:
        tokens: tokens of all documents, concatenated, (tokens,).
        offsets: where each document's tokens begin and end, (documents + 1,) int64.
        terms: number of terms.
        renumber: the term of each token number, (numbers,), or its terms, (numbers, terms of
            each); None if tokens are terms.
        titles: how often tokens of titles count; None for once. If the title is a field, they are
            no part of the text.
        fields: the tokens of the fields beside the text; None stands for the titles.
    """
    runs, df = _Runs(len(fields)), np.zeros(terms, np.int64)
    each = 1 if renumber is None else renumber[:1].size
    if titles is not None:
        titles = titles._replace(lengths=each * titles.lengths)

    def terms_of(tokens: NDArray[np.integer]) -> NDArray[np.integer]:
        return tokens if renumber is None else renumber[tokens].ravel()

    for begin, end in spans(offsets, _TOKENS, BLOCK):
        own = offsets[begin : end + 1]
        lengths = each * np.diff(own)
        in_titles = None if titles is None else titles.lengths[begin:end]
        text = _Text(terms_of(tokens[own[0] : own[-1]]), lengths, in_titles)
        others = [
            _Text(terms_of(part.tokens), each * part.lengths)
            for field in fields
            if field is not None
            for part in [field.gather(np.arange(begin, end))]
        ]
        block = _by_term([text, *others])
        frequencies = block.frequencies
        if titles is not None:
            frequencies = boosted(frequencies, block.of_titles, titles.boost)
        found = iter(block.others)
        counts = [block.of_titles if field is None else next(found) for field in fields]
        df += runs.add(begin, block, [frequencies, *counts], terms)
        release(tokens)
    ends = np.concatenate([[0], np.cumsum(df)])
    documents, (frequencies, *columns) = runs.joined(ends)
    lengths = (each * np.diff(offsets)).astype(np.float32)
    if titles is not None:
        lengths = boosted(lengths, titles.lengths, titles.boost)
    of_titles = np.zeros(0, np.int64) if titles is None else titles.lengths
    of_fields = [of_titles if field is None else each * field.lengths for field in fields]
    return Postings(
        ends, documents, frequencies, lengths,
        [_column(*each) for each in zip(columns, of_fields, strict=True)],
    )  # fmt: skip


def _column(counts: NDArray[np.float32], lengths: NDArray[np.int64]) -> Column:
    """Return a field with numbers of the smallest types, and its mean length where it has any."""
    there = lengths[lengths > 0]
    average = float(there.mean()) if len(there) else 0.0
    kind = _unsigned(int(counts.max(initial=0)))
    stored = packed(
        (counts[at : at + _IMPACTS].astype(kind) for at in range(0, len(counts), _IMPACTS)), kind
    )
    return Column(stored, lengths.astype(_unsigned(int(lengths.max(initial=0)))), average)


def _unsigned(largest: int) -> type[np.unsignedinteger]:
    """Return the smallest type of numbers that has one."""
    return next(each for each in UNSIGNED if largest <= np.iinfo(each).max)


class _Text(NamedTuple):
    """The tokens of a block of documents in one field."""

    terms: NDArray[np.integer]  # of all documents, concatenated, (tokens,)
    lengths: NDArray[np.int64]  # number of tokens of each document, (documents,)
    titles: NDArray[np.int64] | None = None  # how many of these are its title's; see `Titles`


class _Block(NamedTuple):
    """The postings of a block of documents, by term, and by document within a term."""

    terms: NDArray[np.uint32]  # (postings,)
    documents: NDArray[np.uint16]  # numbers within the block, (postings,)
    frequencies: NDArray[np.float32]  # (postings,)
    of_titles: NDArray[np.float32]  # how many of them are in titles, (postings,)
    others: Sequence[NDArray[np.float32]] = ()  # how many more are in each field, (postings,)


class _Runs:
    """The postings of blocks of documents, one block after the other, in temporary files.

    Args:
        fields: how many fields there are beside the text.
    """

    def __init__(self, fields: int) -> None:
        self._terms, self._counts = NumberPacker(np.uint32), NumberPacker(np.uint32)
        self._documents = NumberPacker(np.uint16)
        self._frequencies = [NumberPacker(np.float32) for _ in range(1 + fields)]
        self._first: list[int] = []  # each block's first document
        self._ends = [(0, 0)]  # where each block's terms and postings end

    def add(
        self, first: int, block: _Block, frequencies: Sequence[NDArray[np.float32]], size: int
    ) -> NDArray[np.int64]:
        """Add the postings of the next block and return the number of each term, (size,) int64."""
        df: NDArray[np.int64] = np.bincount(block.terms, minlength=size)
        terms = np.flatnonzero(df)
        self._terms.add(terms)
        self._counts.add(df[terms])
        self._documents.add(block.documents)
        for packer, values in zip(self._frequencies, frequencies, strict=True):
            packer.add(values)
        self._first.append(first)
        of_terms, of_postings = self._ends[-1]
        self._ends.append((of_terms + len(terms), of_postings + len(block.documents)))
        return df

    def joined(
        self, ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], list[NDArray[np.float32]]]:
        """Return the documents of all postings, and the frequencies in the text and each field.

        Args:
            ends: where the postings of each term begin and end, (terms + 1,).
        """
        terms, counts = self._terms.array(), self._counts.array()
        documents = self._documents.array()
        frequencies = [each.array() for each in self._frequencies]
        numbers, values = NumberPacker(np.uint32), [NumberPacker(np.float32) for _ in frequencies]
        left = [list(array) for array in self._ends[:-1]]  # what each block has not given yet
        for begin, end in spans(ends, _JOINED):
            place = ends[begin:end] - ends[begin]  # of the next posting of each term
            count = int(ends[end] - ends[begin])
            own_numbers = np.empty(count, np.uint32)
            own_values = [np.empty(count, np.float32) for _ in frequencies]
            for run, first in enumerate(self._first):
                (of_terms, of_postings), last = left[run], self._ends[run + 1][0]
                more = int(np.searchsorted(terms[of_terms:last], np.uint32(end)))
                own = slice(of_terms, of_terms + more)
                which, times = terms[own] - np.uint32(begin), counts[own].astype(np.int64)
                places = np.repeat(place[which] - (np.cumsum(times) - times), times)
                places += np.arange(len(places))
                given = slice(of_postings, of_postings + len(places))
                own_numbers[places] = documents[given].astype(np.uint32) + np.uint32(first)
                for column, every in zip(own_values, frequencies, strict=True):
                    column[places] = every[given]
                place[which] += times
                left[run] = [own.stop, given.stop]
            numbers.add(own_numbers)
            for packer, column in zip(values, own_values, strict=True):
                packer.add(column)
            for array in (terms, counts, documents, *frequencies):
                release(array)
        return numbers.array(), [each.array() for each in values]


def _by_term(texts: Sequence[_Text]) -> _Block:
    """Return the postings of a block of documents.

    Args:
        texts: the tokens of the documents' texts, and those of each further field.
    """
    # Sorting numbers takes a third of the time of finding their order.
    keys = np.sort(np.concatenate(list(map(_keys, texts, range(len(texts))))))
    postings = keys >> _FIELD_BITS
    begins = np.flatnonzero(np.append(True, postings[1:] != postings[:-1])[: len(keys)])

    def counted(field: int) -> NDArray[np.float32]:
        if not len(begins):
            return np.zeros(0, np.float32)
        return np.add.reduceat(keys.astype(np.uint16) == field, begins, dtype=np.float32)

    frequencies = np.diff(begins, append=len(keys)).astype(np.float32)
    others = [counted(field) for field in range(1, len(texts))]
    for each in others:
        frequencies -= each
    titled = texts[0].titles is not None
    of_titles = counted(_TITLES) if titled else np.zeros(len(begins), np.float32)
    found = postings[begins]
    return _Block(
        (found >> _DOCUMENT_BITS).astype(np.uint32), found.astype(np.uint16), frequencies,
        of_titles, others,
    )  # fmt: skip


def _keys(text: _Text, field: int) -> NDArray[np.uint64]:
    """Return a number for each token, which has its term before its document and its field."""
    keys = text.terms.astype(np.uint64)
    keys <<= _DOCUMENT_BITS
    keys |= np.repeat(np.arange(len(text.lengths), dtype=np.uint64), text.lengths)
    keys <<= _FIELD_BITS
    keys |= np.uint64(field)
    if text.titles is not None:
        first = np.cumsum(text.lengths) - text.lengths
        keys[ranges(first, np.minimum(text.titles, text.lengths))] |= np.uint64(_TITLES)
    return keys
