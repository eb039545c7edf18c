"""Search exactly, by the inner product with every vector of a mapped matrix."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.pipeline.mask import Mask, checked_mask
from ranklet.runtime.pipeline.topk import Scored, top_k

BLOCK = 16_384  # rows per step, 25 MB of float32 at 384 dimensions, to bound memory
FEW = 1024  # rows that are copied at a time
GATHERED = 4  # copying a row and multiplying it takes as long as multiplying four in place


class ExactIndex:
    """An index that compares a query with all vectors.

    Args:
        vectors: (documents, dimension) float32 or float16, in memory or memory-mapped.
    """

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        self.vectors = vectors

    def search(self, query: NDArray[np.float32], k: int, allowed: Mask | None = None) -> Scored:
        """Return the k documents with the largest inner product, best first, ties by number.

        If a mask allows only few documents, only their vectors are read. Their scores are then
        sums in another order, which may differ in the last bit.

        Args:
            query: (dimension,) float32.
            k: maximum number of documents.
            allowed: whether each document may be returned, (documents,) bool; None allows all.

        Raises:
            InputError: the mask has another type or shape.
        """
        mask = checked_mask(allowed, len(self.vectors))
        if k <= 0 or not len(self.vectors):
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        if mask is None:
            scores = self._scores(query)
            best = top_k(scores, k)
            return best.astype(np.uint32), scores[best]
        numbers = np.flatnonzero(mask)
        if len(numbers) * GATHERED < len(self.vectors):
            scores = self._scores_of(numbers, query)
        else:
            scores = self._scores(query, mask)[numbers]
        best = top_k(scores, k)
        return numbers[best].astype(np.uint32), scores[best]

    def _scores(self, query: NDArray[np.float32], mask: Mask | None = None) -> NDArray[np.float32]:
        """Return the inner product with every vector, (documents,) float32.

        With a mask, blocks in which it allows no document keep the score 0.
        """
        scores = np.zeros(len(self.vectors), np.float32)
        for begin in range(0, len(self.vectors), BLOCK):
            if mask is not None and not mask[begin : begin + BLOCK].any():
                continue
            block = self.vectors[begin : begin + BLOCK]
            scores[begin : begin + BLOCK] = block.astype(np.float32, copy=False) @ query
        return scores

    def _scores_of(
        self, numbers: NDArray[np.intp], query: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the inner product with some vectors, (numbers,) float32."""
        scores = np.empty(len(numbers), np.float32)
        for begin in range(0, len(numbers), FEW):
            rows = self.vectors[numbers[begin : begin + FEW]].astype(np.float32, copy=False)
            # einsum sums each row in the same way, however many there are.
            scores[begin : begin + FEW] = np.einsum("nd,d->n", rows, query)
        return scores
