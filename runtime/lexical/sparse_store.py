"""Store the sparse vectors of all documents, by document, for rescoring and explanations."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.arrays import id_type, rows_ascend
from ranklet.runtime.storage.block_array import fetch_rows, mapped

MOST_TERMS = 1 << 20  # of a vocabulary; one for a hundred languages has 250,000
LARGEST_VALUE = float(np.finfo(np.float16).max)  # values are stored in float16


class SparseStore:
    """Term ids and values by document, in memory or memory-mapped.

    Args:
        offsets: document d's vector is at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        terms: term ids, ascending within a document, (n,) of their `id_type`.
        values: the terms' values, > 0, (n,) float16.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        terms: NDArray[np.unsignedinteger],
        values: NDArray[np.float16],
    ) -> None:
        self.offsets, self.terms, self.values = offsets, terms, values

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def impacts(
        self, terms: NDArray[np.integer], documents: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return the value of each term in each document, 0 if absent, (terms, documents) float32.

        One binary search looks up all terms in all documents at once. It takes ten steps in a
        vector of a thousand terms instead of reading the vector.

        >>> store = SparseStore(
        ...     np.array([0, 2, 2, 3]), np.array([3, 7, 7], np.uint16), np.array([1, 2, 3], "<f2")
        ... )
        >>> store.impacts(np.array([7, 4]), np.array([0, 1, 2])).tolist()
        [[2.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
        """
        fetch_rows(documents, ragged=[(self.offsets, self.terms, self.values)])
        stored, values = mapped(self.terms), mapped(self.values)
        begin = self.offsets[documents]
        length = self.offsets[documents.astype(np.intp) + 1] - begin
        if not len(self.terms) or not len(length) or not len(terms):
            return np.zeros((len(terms), len(begin)), np.float32)
        wanted = terms.astype(self.terms.dtype)[:, None]
        position = np.repeat(begin[None, :], len(terms), axis=0)  # (terms, documents)
        # Reused in every round, because new arrays of this size fault in new pages, at a cost.
        look, seen = np.empty_like(position), np.empty(position.shape, stored.dtype)
        below = position < 0
        left = length
        # The first term that is not below the wanted one is at a place from `position` to
        # `position + left`, or right after. Every step halves that range, in all rows alike.
        for _ in range(int(length.max()).bit_length()):
            half = left >> 1
            np.add(position, half - 1, out=look)
            np.less(np.take(stored, look, out=seen, mode="clip"), wanted, out=below)
            position += np.multiply(half, below, out=look)
            left = left - half
        present = (np.take(stored, position, out=seen, mode="clip") == wanted) & (length > 0)
        impacts = np.zeros(position.shape, np.float32)
        impacts[present] = values[position[present]]
        return impacts

    def products(self, query: SparseQuery, documents: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the dot product of a query with each of some documents, (documents,) float32."""
        # In float64, rounding cannot make a document's score depend on the other documents.
        total = query.weights.astype(np.float64) @ self.impacts(query.terms, documents)
        return total.astype(np.float32)

    def vector(self, document: int) -> tuple[NDArray[np.unsignedinteger], NDArray[np.float32]]:
        """Return a document's terms and their values.

        >>> store = SparseStore(np.array([0, 1, 2]), np.array([3, 7], np.uint16), np.ones(2, "<f2"))
        >>> store.vector(1)[0].tolist()
        [7]
        """
        span = slice(self.offsets[document], self.offsets[document + 1])
        return self.terms[span], self.values[span].astype(np.float32)

    def verify(self, name: str, vocabulary: int) -> None:
        """Check every number.

        Raises:
            BundleError: a number is wrong; the message begins with `name`.
        """
        if len(self.terms) and int(self.terms.max()) >= vocabulary:
            raise BundleError(f"{name}: a document has a term past the vocabulary of {vocabulary}")
        if not rows_ascend(self.offsets, self.terms):
            raise BundleError(f"{name}: the terms of a document do not ascend")
        if not (np.isfinite(self.values) & (self.values > 0)).all():
            raise BundleError(f"{name}: a term's value is not finite and positive")


class SparseRows(NamedTuple):
    """Sparse vectors of some documents, as `prune` returns them."""

    rows: NDArray[np.unsignedinteger]  # (documents, 2, kept)
    cut: list[int]  # indices of the texts that were truncated

    @property
    def store(self) -> SparseStore:
        """The same vectors by document, without the zeros that fill up the rows."""
        return store_rows(self.rows)


def prune(
    vectors: NDArray[np.float32], kept: int, priorities: NDArray[np.float32] | None = None
) -> NDArray[np.unsignedinteger]:
    """Return the largest values of each vector in their stored form (MacAvaney et al. 2020, §3).

    Args:
        vectors: (documents, vocabulary) float32, at most `MOST_TERMS` wide.
        kept: r, the maximum number of values per vector; only values above 0 are kept.
        priorities: factors, > 0, that apply only while the largest values are chosen, (vocabulary,)
            float32; None for 1.

    Returns:
        (documents, 2, min(r, vocabulary)) of the terms' `id_type`, the ascending term ids and the
        bits of their float16 values. Zeros fill up a vector that has fewer values above 0.

    Raises:
        BundleError: a value is too large for float16. Clipping it would change the ranking, and no
            well-trained network comes near this limit.

    >>> (row,) = prune(np.array([[0.5, -1.0, 2.0, 1.0]], np.float32), 2)
    >>> row[0].tolist(), row[1].view(np.float16).tolist()
    ([2, 3], [2.0, 1.0])
    >>> (row,) = prune(np.array([[0.5, -1, 2, 1]], np.float32), 2, np.array([9, 9, 1, 1], "<f4"))
    >>> row[0].tolist(), row[1].view(np.float16).tolist()
    ([0, 2], [0.5, 2.0])
    """
    dropped = max(0, vectors.shape[1] - kept)
    wanted = vectors if priorities is None else vectors * priorities
    best = np.argpartition(wanted, min(dropped, vectors.shape[1] - 1), axis=1)[:, dropped:]
    best.sort(axis=1)
    values = np.take_along_axis(vectors, best, axis=1).clip(0)
    largest = float(values.max(initial=0))
    if not largest <= LARGEST_VALUE:
        raise BundleError(
            f"a term's value in a document is {largest:g}; the largest that can be stored is "
            f"{LARGEST_VALUE:g}. Either the training diverged (use a lower learning rate) or the "
            "bundle is damaged"
        )
    bits, kind = values.astype(np.float16).view(np.uint16), id_type(vectors.shape[1])
    return np.stack([best.astype(kind), bits.astype(kind)], axis=1)


def store_rows(rows: NDArray[np.unsignedinteger]) -> SparseStore:
    """Return a store of the vectors that `prune` returned."""
    terms, values = rows[:, 0], rows[:, 1].astype(np.uint16).view(np.float16)
    positive = values > 0
    offsets = np.concatenate([[0], np.cumsum(positive.sum(1))]).astype(np.int64)
    return SparseStore(offsets, terms[positive], values[positive])
