"""Search exactly, by the inner product with every vector of a mapped matrix."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.pipeline.topk import Scored, top_k

BLOCK = 16_384  # rows per step, 25 MB of float32 at 384 dimensions, to bound memory


class ExactIndex:
    """An index that compares a query with all vectors.

    Args:
        vectors: (documents, dimension) float32 or float16, in memory or memory-mapped.
    """

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        self.vectors = vectors

    def search(self, query: NDArray[np.float32], k: int) -> Scored:
        """Return the k documents with the largest inner product, best first, ties by number."""
        if k <= 0 or not len(self.vectors):
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        scores = np.empty(len(self.vectors), np.float32)
        for begin in range(0, len(self.vectors), BLOCK):
            block = self.vectors[begin : begin + BLOCK]
            scores[begin : begin + BLOCK] = block.astype(np.float32, copy=False) @ query
        best = top_k(scores, k)
        return best.astype(np.uint32), scores[best]
