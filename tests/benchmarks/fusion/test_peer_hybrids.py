"""What the peers' environment computes itself."""

import numpy as np
from benchmarks.fusion.peer_hybrids import dense_lists, ranks


def test_reciprocal_ranks_are_added_up() -> None:
    assert ranks([[0, 1, 2]], [[2, 1]], 3) == [[2, 1, 0]]
    assert ranks([[5]], [[]], 3) == [[5]]


def test_the_nearest_come_first() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    assert dense_lists(vectors, np.array([[0, 1]], np.float32), 2) == [[1, 2]]
