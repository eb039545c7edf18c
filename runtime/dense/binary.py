"""Search by binary codes: compare signs first, then the inner products of those that agree most.

A code has one bit per dimension, which says whether a vector is above a centre there. Codes take a
thirty-second of the space of float32 and are compared by counting bits, so a search reads little
and needs no graph and no compiler. The centre is the mean of the first vectors, because some
encoders, such as E5, put all texts on one side of the origin, where all signs are alike.

Sources: Charikar 2002, signs of projections; Yamada et al. 2021, codes that choose the candidates
of exact scores.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask, check_mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.stored import StoredVectors
from ranklet.runtime.ground.errors import BundleError

WORD = 64  # bits
CENTRED = 256  # vectors whose mean is the centre; they lie together, so reading them takes no time
BLOCK = 1 << 13  # documents whose codes are compared at a time, so that they stay in the cache
RESCORED = 1_000  # documents whose vectors are compared, at least
COPIED = 4  # copying a code takes as long as comparing four in place
PER_HIT = 10  # documents whose vectors are compared for each hit that is wanted, at least


def binary_codes(vectors: StoredVectors) -> NDArray[np.uint64]:
    """Return the codes of vectors, (words, vectors) uint64; word w has dimensions from 64 w on.

    A word of all vectors stands together, because a search reads the codes word by word. Bits past
    the last dimension are 0.
    """
    centre, blocks = compute_centre(vectors), range(0, len(vectors), BLOCK)
    codes = [_packed(vectors.floats(slice(at, at + BLOCK)) > centre) for at in blocks]
    return np.concatenate([_packed(np.empty((0, len(centre)), np.bool_)), *codes], axis=1)


def compute_centre(vectors: StoredVectors) -> NDArray[np.float32]:
    """Return the mean of the first vectors, (dimension,) float32."""
    first = vectors.floats(slice(CENTRED))
    return np.asarray(first.sum(0) / np.float32(max(1, len(first))), np.float32)


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return codes, (words, vectors) uint64, by their bits, (vectors, dimension)."""
    words = -(-bits.shape[1] // WORD)
    whole = np.zeros((len(bits), words * WORD), np.bool_)
    whole[:, : bits.shape[1]] = bits
    packed = np.packbits(whole, axis=1, bitorder="little")
    return np.ascontiguousarray(packed.view("<u8").astype(np.uint64, copy=False).T)


class BinaryIndex:
    """An index of binary codes over vectors; immutable and shared by all threads.

    Args:
        codes: the documents' binary codes, (words, documents) uint64; see `binary_codes`.
        vectors: the documents' vectors, in any form.
        share: of the documents that are usually compared by their vectors, how many are.
    """

    def __init__(
        self, codes: NDArray[np.uint64], vectors: StoredVectors, share: float = 1.0
    ) -> None:
        self.codes, self.vectors, self._share = codes, vectors, share

    def search(self, query: NDArray[np.float32], k: int, allowed: Mask | None = None) -> Scored:
        """Return the k documents with the largest inner product, best first, ties by number.

        These are exact among the documents whose codes differ least from the query's, ten per hit
        and at least a thousand, or a share of these. All that differ by as many bits as the last of
        them are compared, too, so the result does not depend on chance. With a mask, k documents
        are returned if it allows so many.

        Args:
            query: (dimension,) float32.
            k: maximum number of documents.
            allowed: whether each document may be returned, (documents,) bool; None allows all.

        Raises:
            InputError: the mask has another type or shape.
        """
        count = self.codes.shape[1]
        mask = check_mask(allowed, count)
        rows = None if mask is None else np.flatnonzero(mask)
        count = count if rows is None else len(rows)
        if k <= 0 or not count:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        most = int(self._share * max(RESCORED, PER_HIT * k))
        if most < count:
            near = nearest(self._distances(query, rows), most)
            rows = near if rows is None else rows[near]
        elif rows is None:
            rows = np.arange(count)
        scores = self.vectors.multiply_vectors(rows, query)
        best = top_k(scores, k)
        return rows[best].astype(np.uint32), scores[best]

    def verify(self, name: str) -> None:
        """Check every code.

        Raises:
            BundleError: a code is not that of its vector; the message begins with `name`.
        """
        if not np.array_equal(self.codes, binary_codes(self.vectors)):
            raise BundleError(f"{name}: a code is not that of its vector")

    @cached_property
    def _centre(self) -> NDArray[np.float32]:
        return compute_centre(self.vectors)

    def _code(self, query: NDArray[np.float32]) -> NDArray[np.uint64]:
        """Return the code of a query without what it has of the centre, (words,) uint64.

        That part of an inner product is the same for all documents, as far as these are alike.
        """
        centre = self._centre
        length = float(centre @ centre)
        share = float(query @ centre) / length if length else 0.0
        return _packed((query - np.float32(share) * centre > 0)[None])[:, 0]

    def _distances(
        self, query: NDArray[np.float32], rows: NDArray[np.intp] | None
    ) -> NDArray[np.uint16]:
        """Return in how many bits the codes of some documents differ from a query's, (rows,)."""
        code = self._code(query)
        if rows is None:
            return hamming(self.codes, code)
        if len(rows) * COPIED < self.codes.shape[1]:
            return hamming(self.codes[:, rows], code)
        return hamming(self.codes, code)[rows]


def hamming(codes: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return in how many bits each code differs from the query's, (documents,) uint16.

    Args:
        codes: (words, documents) uint64.
        query: (words,) uint64.

    >>> codes = np.array([[0b1100, 0b0001]], np.uint64)
    >>> hamming(codes, np.array([0b1000], np.uint64)).tolist()
    [1, 2]
    """
    distances = np.empty(codes.shape[1], np.uint16)
    for begin in range(0, codes.shape[1], BLOCK):
        own = slice(begin, begin + BLOCK)
        np.bitwise_count(codes[:, own] ^ query[:, None]).sum(0, np.uint16, distances[own])
    return distances


def nearest(distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Return the places of the smallest distances, and of all that are level with the last.

    >>> nearest(np.array([3, 1, 2, 2], np.uint16), 2).tolist()
    [1, 2, 3]
    """
    within = np.bincount(distances).cumsum()  # how many are at a distance or nearer
    return np.flatnonzero(distances <= within.searchsorted(count))
