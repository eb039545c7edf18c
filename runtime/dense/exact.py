"""Search exactly, by the inner product with every vector of a mapped matrix."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask, checked_mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.stored import StoredVectors

GATHERED = 4  # copying a row and multiplying it takes as long as multiplying four in place


class ExactIndex:
    """An index that compares a query with all vectors.

    Args:
        vectors: the documents' vectors, in any form.
    """

    def __init__(self, vectors: StoredVectors) -> None:
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
            scores = self.vectors.products(query)
            best = top_k(scores, k)
            return best.astype(np.uint32), scores[best]
        numbers = np.flatnonzero(mask)
        if len(numbers) * GATHERED < len(self.vectors):
            scores = self.vectors.products_of(numbers, query)
        else:
            scores = self.vectors.products(query, mask)[numbers]
        best = top_k(scores, k)
        return numbers[best].astype(np.uint32), scores[best]
