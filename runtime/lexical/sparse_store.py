"""Sparse vectors of all documents, by document: for rescoring and for explanations."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError

MOST_TERMS = 1 << 16  # term ids are stored in 16 bits
LARGEST_VALUE = float(np.finfo(np.float16).max)  # so are values


class SparseStore:
    """Term ids and values by document, in memory or memory-mapped.

    Args:
        offsets: vector of document d is at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        terms: ids, ascending within a document, (n,) uint16.
        values: > 0, (n,) float16.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        terms: NDArray[np.uint16],
        values: NDArray[np.float16],
    ) -> None:
        self.offsets, self.terms, self.values = offsets, terms, values

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def impacts(
        self, terms: NDArray[np.integer], documents: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return the value of each term in each of some documents, 0 where it has none.

        A binary search of all terms in all documents at once: ten looks at a vector of a thousand
        terms instead of reading it.

        Args:
            terms: (terms,).
            documents: (documents,).

        Returns:
            (terms, documents) float32.

        >>> store = SparseStore(
        ...     np.array([0, 2, 2, 3]), np.array([3, 7, 7], np.uint16), np.array([1, 2, 3], "<f2")
        ... )
        >>> store.impacts(np.array([7, 4]), np.array([0, 1, 2])).tolist()
        [[2.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
        """
        begin = self.offsets[documents]
        length = self.offsets[documents.astype(np.intp) + 1] - begin
        if not len(self.terms) or not len(length) or not len(terms):
            return np.zeros((len(terms), len(begin)), np.float32)
        wanted = terms.astype(self.terms.dtype)[:, None]
        at = np.repeat(begin[None, :], len(terms), axis=0)  # (terms, documents)
        # Written over in every round: fresh arrays of this size are fresh pages, which cost more.
        look, seen, below = np.empty_like(at), np.empty(at.shape, np.uint16), at < 0
        left = length
        # The first place whose term is not below the wanted one lies in `at` to `at + left`, or
        # right behind. Every look halves that, in all rows alike.
        for _ in range(int(length.max()).bit_length()):
            half = left >> 1
            np.add(at, half - 1, out=look)
            np.less(np.take(self.terms, look, out=seen, mode="clip"), wanted, out=below)
            at += np.multiply(half, below, out=look)
            left = left - half
        found = (np.take(self.terms, at, out=seen, mode="clip") == wanted) & (length > 0)
        impacts = np.zeros(at.shape, np.float32)
        impacts[found] = self.values[at[found]]
        return impacts

    def products(self, query: "SparseQuery", documents: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the dot product of a query with each of some documents, (documents,) float32."""
        # float64: rounding cannot tell a document alone from the same one among others
        total = query.weights.astype(np.float64) @ self.impacts(query.terms, documents)
        return total.astype(np.float32)

    def vector(self, document: int) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """Return a document's terms and their values.

        >>> store = SparseStore(np.array([0, 1, 2]), np.array([3, 7], np.uint16), np.ones(2, "<f2"))
        >>> store.vector(1)[0].tolist()
        [7]
        """
        span = slice(self.offsets[document], self.offsets[document + 1])
        return self.terms[span], self.values[span].astype(np.float32)

    def verify(self, name: str, vocabulary: int) -> None:
        """Check every number; BundleError, which begins with `name`, says what is wrong."""
        if len(self.terms) and int(self.terms.max()) >= vocabulary:
            raise BundleError(f"{name}: a document has a term past the vocabulary of {vocabulary}")
        within = np.ones(len(self.terms), np.bool_)  # False where a document's terms begin
        within[self.offsets[:-1][np.diff(self.offsets) > 0]] = False
        steps = np.diff(self.terms.astype(np.int32), prepend=-1)
        if (steps[within] <= 0).any():
            raise BundleError(f"{name}: the terms of a document do not ascend")
        if not (np.isfinite(self.values) & (self.values > 0)).all():
            raise BundleError(f"{name}: a document's value of a term is not a number above 0")


class SparseQuery(NamedTuple):
    """A query's sparse vector."""

    terms: NDArray[np.int32]  # ascending, none twice, (terms,)
    weights: NDArray[np.float32]  # > 0, (terms,)


class SparseRows(NamedTuple):
    """Sparse vectors of some documents, as `prune` returns them."""

    rows: NDArray[np.uint16]  # (documents, 2, kept)
    cut: list[int]  # places of the texts that were longer than the limit

    @property
    def store(self) -> SparseStore:
        """The same by document, without what fills up."""
        return store_of_rows(self.rows)


def prune(
    vectors: NDArray[np.float32], kept: int, priorities: NDArray[np.float32] | None = None
) -> NDArray[np.uint16]:
    """Return the largest values of each vector, as they are stored (paper 003, §3).

    Args:
        vectors: (documents, vocabulary) float32, at most `MOST_TERMS` wide.
        kept: r, values kept of each; what is not above 0 is not kept.
        priorities: what values are multiplied by to tell which are the largest, > 0, (vocabulary,)
            float32; None for 1.

    Returns:
        (documents, 2, min(r, vocabulary)) uint16: term ids, ascending, and the bits of their values
        in float16; values of 0 fill up where a vector has fewer above 0.

    Raises:
        BundleError: a value is past what float16 holds: cut off there it would no longer rank, and
            no network that was trained well comes near.

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
            f"a document's value of a term is {largest:g}, and {LARGEST_VALUE:g} is the most that "
            "is stored: the network was trained badly (at a lower rate it stays smaller), or the "
            "bundle is damaged"
        )
    bits = values.astype(np.float16).view(np.uint16)
    return np.stack([best.astype(np.uint16), bits], axis=1)


def store_of_rows(rows: NDArray[np.uint16]) -> SparseStore:
    """Return the store of vectors as `prune` returns them."""
    terms, values = rows[:, 0], np.ascontiguousarray(rows[:, 1]).view(np.float16)
    held = values > 0
    offsets = np.concatenate([[0], np.cumsum(held.sum(1))]).astype(np.int64)
    return SparseStore(offsets, terms[held], values[held])
