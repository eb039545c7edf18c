"""Dot products of sparse vectors."""

import numpy as np

from ranklet.export.sparse.scoring import scores_of
from ranklet.runtime.call.query import SparseQuery

# Two documents over four terms.
WHOLE = np.array([[1.0, -0.9, 0.0, 2.0], [0.5, 0.25, 0.0, -1.0]], np.float32)
QUERIES = [
    SparseQuery(np.array([0, 1], np.int32), np.array([1, 1], np.float32)),
    SparseQuery(np.array([3], np.int32), np.array([2], np.float32)),
]


def test_scores_of_some_terms_are_plain_dot_products() -> None:
    terms = np.array([0, 1, 3])
    found = scores_of(QUERIES, terms, WHOLE[:, terms])
    np.testing.assert_allclose(found, [[0.1, 0.75], [4.0, -2.0]], rtol=1e-6)
