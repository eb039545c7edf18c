"""Select the k best of many scores, independently of their order."""

import numpy as np
from numpy.typing import NDArray

_FEW = 200  # scores that are sorted as fast as the best of them are chosen

Scored = tuple[NDArray[np.uint32], NDArray[np.float32]]  # documents, best first, and their scores


def top_k(
    scores: NDArray[np.floating], k: int, ties: NDArray[np.integer] | None = None
) -> NDArray[np.intp]:
    """Return the positions of the k largest scores, best first.

    Args:
        scores: (n,) floating.
        k: number of scores; all if k ≥ n, none if k ≤ 0.
        ties: ascending order of equal scores, (n,); None orders them by position.

    >>> top_k(np.array([1.0, 3.0, 3.0, 2.0, 1.0]), 4).tolist()
    [1, 2, 3, 0]
    >>> top_k(np.array([3.0, 3.0]), 1, ties=np.array([9, 5])).tolist()
    [1]
    """
    if k <= 0:
        return np.empty(0, np.intp)
    if k >= len(scores) or len(scores) <= _FEW:
        keys = (-scores,) if ties is None else (ties, -scores)
        return np.lexsort(keys)[:k]
    # `partition` would choose arbitrarily among equal scores at the border. Take the scores above
    # the border, then the first of the equal ones.
    border = np.partition(scores, len(scores) - k)[len(scores) - k]
    above, level = np.flatnonzero(scores > border), np.flatnonzero(scores == border)
    if ties is not None and len(above) + len(level) > k:
        level = level[np.argsort(ties[level], kind="stable")]
    chosen = np.concatenate([above, level[: k - len(above)]])
    order = chosen if ties is None else ties[chosen]
    return chosen[np.lexsort((order, -scores[chosen]))]
