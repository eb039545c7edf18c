"""The terms nearest to each term by their embeddings: those a document may be found by, too."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.term_network import FIRST

BLOCK = 512  # terms compared with all others at a time


def nearest_terms(embeddings: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """Return the rows of the `count` terms with the largest cosine to each row, nearest first.

    Args:
        embeddings: (rows, hidden) float32; the first `FIRST` rows are no terms.
        count: of neighbours; fewer where there are not as many other terms.

    Returns:
        (rows, count) int32, without the term itself; zeros for rows that are no terms.

    >>> rows = np.array([[0, 0], [1, 1], [1, 0], [0, 1], [3, 1]], np.float32)
    >>> nearest_terms(rows, 2)[2:].tolist()
    [[4, 3], [4, 2], [2, 3]]
    """
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    unit = embeddings / np.maximum(lengths, 1e-9)
    count = max(0, min(count, len(unit) - FIRST - 1))
    found = np.zeros((len(unit), count), np.int32)
    if not count:
        return found
    for begin in range(FIRST, len(unit), BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, len(unit)))
        similar = unit[rows] @ unit[FIRST:].T
        similar[np.arange(len(rows)), rows - FIRST] = -np.inf
        best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(similar, best, 1), axis=1, kind="stable")
        found[rows] = np.take_along_axis(best, order, 1) + FIRST
    return found
