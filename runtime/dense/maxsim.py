"""MaxSim, the score of late interaction: R(q, d) = Σ_i max_j q_i · d_j.

Sources: Khattab & Zaharia 2020, eq. 3; Boualili 2022, eq. 8.7.

Vectors are whole numbers with one factor per vector, and their lengths are limited so that every
partial sum of an inner product is a whole number of at most 2²⁴. float32 represents all of these,
so that products are exact in any order of summation. A document therefore has the same score to
the bit, whatever it is scored with, and on any BLAS.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.storage.block_array import fetch_rows

EXACT = 1 << 24  # float32 represents all whole numbers up to here
LARGEST = 127  # of a value in 8 bits
LONGEST = 4096  # length of a vector in 16 bits, so that a query's may be as long
BLOCK = 1024  # tokens per product, half a megabyte of float32 at 128 dimensions

# Where the tokens of a document begin and end among those of all documents.
Span = tuple[int, int]
# Returns the inner products with a query's whole numbers, (query tokens, tokens) float32.
Products = Callable[[Sequence[Span]], NDArray[np.float32]]


class Quantised(NamedTuple):
    """Vectors as whole numbers. Vector t is ``scales[t] * values[t]``."""

    values: NDArray[Any]  # (vectors, dimension), int8, int16, or float32 for a query
    scales: NDArray[np.float32]  # > 0, (vectors,)


def longest(dtype: DTypeLike, dimension: int) -> float:
    """Return the greatest length of a vector of whole numbers of a type, int8 or int16."""
    return LARGEST * sqrt(dimension) if np.dtype(dtype) == np.int8 else float(LONGEST)


def quantise(vectors: NDArray[np.float32], dtype: DTypeLike) -> Quantised:
    """Return vectors of documents in 8 or 16 bits per number.

    The largest number of a vector becomes 127, or in 16 bits the vector's length nearly `LONGEST`.
    A vector of zeros stays one.

    Args:
        vectors: (vectors, dimension) float32.
        dtype: int8 or int16.
    """
    if np.dtype(dtype) == np.int8:
        sizes = np.abs(vectors).max(1, initial=0) / LARGEST
    else:
        sizes = np.linalg.norm(vectors, axis=1) / _before_rounding(LONGEST, vectors.shape[1])
    scales = _positive(sizes)
    return Quantised(np.rint(vectors / scales[:, None]).astype(dtype), scales)


def quantise_query(vectors: NDArray[np.float32], dtype: DTypeLike) -> Quantised:
    """Return vectors of a query as whole numbers in float32, for documents of a type.

    They are as long as exact products allow, 11 to 14 bits per number.

    Args:
        vectors: (vectors, dimension) float32.
        dtype: the type of the documents' vectors, int8 or int16.
    """
    dimension = vectors.shape[1]
    most = _before_rounding(EXACT / longest(dtype, dimension), dimension)
    scales = _positive(np.linalg.norm(vectors, axis=1) / most)
    return Quantised(np.rint(vectors / scales[:, None]), scales)


def _before_rounding(length: float, dimension: int) -> float:
    """Return a length that rounding each number can raise at most to `length`."""
    return length - sqrt(dimension) / 2 - 1


def _positive(scales: NDArray[np.floating]) -> NDArray[np.float32]:
    least = np.finfo(np.float32).tiny  # a smaller factor would be 0 or lose digits
    return np.where(scales > least, scales, 1).astype(np.float32)


class MaxSimStore(ABC):
    """Documents that MaxSim can score, whose tokens stand end to end.

    Args:
        offsets: tokens of document d are at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
    """

    def __init__(self, offsets: NDArray[np.int64]) -> None:
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    @abstractmethod
    def columns(self) -> Sequence[NDArray[Any]]:
        """What is stored of each token, arrays of one row per token."""

    @abstractmethod
    def products(self, query: Quantised, spans: Sequence[Span], rows: int) -> Products:
        """Return a function that multiplies a query by the tokens of some of the spans.

        Args:
            query: the query; only its whole numbers are multiplied, not its factors.
            spans: the spans of all documents that the function will be called for.
            rows: the most tokens of a call.
        """

    def scores(self, query: Quantised, documents: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return MaxSim of a query and some documents, (documents,) float32.

        A document without a vector gets 0.

        Args:
            query: what `quantise_query` returned for the type of this store.
            documents: numbers of documents.
        """
        total = np.zeros(len(documents))  # float64, added in the order of the query's tokens
        for best in self.best(query, documents):
            total += best
        return total.astype(np.float32)

    def best(self, query: Quantised, documents: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return max_j q_i · d_j, (query tokens, documents) float32; see `scores`."""
        numbers = np.asarray(documents, np.int64)
        fetch_rows(numbers, ragged=[(self.offsets, *self.columns)])
        begins, ends = self.offsets[numbers], self.offsets[numbers + 1]
        filled = np.flatnonzero(ends > begins)
        best = np.zeros((len(query.values), len(numbers)), np.float32)
        if not len(filled) or not len(best):
            return best
        spans = list(zip(begins[filled].tolist(), ends[filled].tolist(), strict=True))
        rows = max(BLOCK, max(end - begin for begin, end in spans))
        products = self.products(query, spans, rows)
        for block in _blocks(spans, rows):
            starts, at = [], 0
            for begin, end in spans[block]:
                starts.append(at)
                at += end - begin
            best[:, filled[block]] = np.maximum.reduceat(products(spans[block]), starts, axis=1)
        return best * query.scales[:, None]

    def similarities(self, query: Quantised, document: int) -> NDArray[np.float32]:
        """Return q_i · d_j for one document, (query tokens, its tokens) float32.

        The largest number of a row is exactly what `best` returns.
        """
        fetch_rows([document], ragged=[(self.offsets, *self.columns)])
        begin, end = self.offsets[document : document + 2].tolist()
        spans = [(begin, end)]
        return self.products(query, spans, end - begin)(spans) * query.scales[:, None]


class TokenStore(MaxSimStore):
    """The token vectors of documents, end to end, in memory or memory-mapped.

    Args:
        offsets: vectors of document d are at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        vectors: the vectors of all documents.
    """

    def __init__(self, offsets: NDArray[np.int64], vectors: Quantised) -> None:
        super().__init__(offsets)
        self.vectors = vectors

    @classmethod
    def of(
        cls, documents: Sequence[NDArray[np.float32]], dtype: DTypeLike, dimension: int
    ) -> "TokenStore":
        """Return a store of some documents' vectors, each (tokens, dimension) float32."""
        offsets = np.cumsum([0, *map(len, documents)])
        whole = np.concatenate([*documents, np.empty((0, dimension), np.float32)])
        return cls(offsets.astype(np.int64), quantise(whole, dtype))

    @property
    def columns(self) -> Sequence[NDArray[Any]]:
        """The whole numbers and the factors."""
        return self.vectors

    def products(
        self,
        query: Quantised,
        spans: Sequence[Span],  # noqa: ARG002
        rows: int,
    ) -> Products:
        """Return a function that reads the spans' vectors; see `MaxSimStore.products`."""
        values = np.empty((rows, self.vectors.values.shape[1]), np.float32)
        scales = np.empty(rows, np.float32)

        def of(own: Sequence[Span]) -> NDArray[np.float32]:
            at = 0
            for begin, end in own:
                after = at + end - begin
                values[at:after] = self.vectors.values[begin:end]
                scales[at:after] = self.vectors.scales[begin:end]
                at = after
            return inner_products(query, Quantised(values[:at], scales[:at]))

        return of


def inner_products(query: Quantised, vectors: Quantised) -> NDArray[np.float32]:
    """Return the inner products with a query's whole numbers, (query tokens, vectors) float32.

    Args:
        query: the query; only its whole numbers are multiplied, not its factors.
        vectors: values of any type.
    """
    products: NDArray[np.float32] = query.values @ vectors.values.astype(np.float32, copy=False).T
    products *= vectors.scales
    return products


def _blocks(spans: Sequence[Span], rows: int) -> Iterator[slice]:
    """Yield slices of spans that have at most `rows` tokens together."""
    first, taken = 0, 0
    for at, (begin, end) in enumerate(spans):
        if taken + end - begin > rows:
            yield slice(first, at)
            first, taken = at, 0
        taken += end - begin
    yield slice(first, len(spans))
