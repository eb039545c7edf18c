"""What the table of sub-embeddings begins with: centroids of the oracle's vectors of each token.

Boualili, chapter 8, begins at random, and only SRM-Top1 with centroids of k-means. From centroids
a few hundred steps are enough.
"""

import numpy as np
from numpy.typing import NDArray

ROUNDS = 8  # of k-means
MOST = 256  # vectors of a token that count; more do not move its centroids by much


def centroids(
    ids: NDArray[np.int64],
    vectors: NDArray[np.float16],
    alone: NDArray[np.float32],
    clusters: int,
    seed: int,
) -> NDArray[np.float32]:
    """Return the centroids of each token's vectors, (vocabulary, clusters, dimension) float32.

    A token with fewer vectors than clusters has each of them, and their mean in the other places. A
    token without any has what the oracle makes of it alone.

    Args:
        ids: tokens that occur, (occurrences,) int64.
        vectors: the vectors of these tokens, (occurrences, dimension) float16.
        alone: the oracle's vector of each token without context, (vocabulary, dimension) float32.
        clusters: number of centroids.
        seed: the seed of the draws.
    """
    rng = np.random.default_rng(seed)
    table = np.repeat(alone[:, None, :], clusters, axis=1)
    order = rng.permutation(len(ids))
    order = order[np.argsort(ids[order], kind="stable")]
    found, begins = np.unique(ids[order], return_index=True)
    for token, own in zip(found.tolist(), np.split(order, begins[1:]), strict=True):
        table[token] = k_means(vectors[own[:MOST]].astype(np.float32), clusters)
    return table


def k_means(vectors: NDArray[np.float32], clusters: int) -> NDArray[np.float32]:
    """Return the centroids of some vectors in random order, (clusters, dimension) float32.

    >>> k_means(np.array([[0.0], [9.0], [1.0], [8.0]], np.float32), 2).ravel().tolist()
    [0.5, 8.5]
    """
    if len(vectors) <= clusters:
        rest = np.repeat(vectors.mean(0, keepdims=True), clusters - len(vectors), axis=0)
        return np.concatenate([vectors, rest])
    centres = vectors[:clusters].copy()
    for _ in range(ROUNDS if clusters > 1 else 1):
        # |v − c|² = |v|² − 2 v·c + |c|², and |v|² is the same for every centre.
        nearest = ((centres**2).sum(1) - 2 * vectors @ centres.T).argmin(1)
        counts = np.bincount(nearest, minlength=clusters)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, vectors)
        filled = counts > 0  # an empty cluster keeps its centre
        centres[filled] = sums[filled] / counts[filled, None]
    return centres
