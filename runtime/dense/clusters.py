"""Group similar vectors of a document, so that one stored vector can stand for each group.

Source: Clavié, Chaffin & Adams 2024, "Reducing the Footprint of Multi-Vector Retrieval with Minimal
Performance Impact via Token Pooling" (arXiv 2409.14683).
"""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.maxsim import quantise

WINDOW = 256  # neighbouring vectors that are compared; the time of a window grows with its cube


def halved(vectors: NDArray[np.float32]) -> list[list[int]]:
    """Return half as many groups as there are vectors, ordered by their first vectors.

    Vectors are compared with those of the same `WINDOW`, which start at multiples of it.

    >>> halved(np.array([[1, 0], [0, 1], [1, 0.1], [0, 0.9], [0.7, 0.7]], np.float32))
    [[0, 2], [1, 3], [4]]

    Args:
        vectors: (vectors, dimension) float32.
    """
    groups = []
    for begin in range(0, len(vectors), WINDOW):
        own = vectors[begin : begin + WINDOW]
        found = ward_clusters(own, -(-len(own) // 2))
        groups += [[begin + each for each in group] for group in found]
    return groups


def ward_clusters(vectors: NDArray[np.float32], count: int) -> list[list[int]]:
    """Return clusters of vectors by Ward's method, ordered by their first vectors.

    The two clusters whose union adds least to the squared distances from the means are joined until
    `count` are left (Ward 1963), by the recurrence of Lance & Williams 1967. Distances are those of
    vectors in 8 bits, whose products are exact, so that the clusters do not depend on the machine.

    Args:
        vectors: (vectors, dimension) float32.
        count: the number of clusters, from 1 to the number of vectors.
    """
    values, scales = quantise(vectors, np.int8)
    own = values.astype(np.float64)
    products = (own @ own.T) * np.outer(scales, scales).astype(np.float64)
    squares = products.diagonal()
    distances = squares[:, None] + squares[None, :] - 2 * products
    np.fill_diagonal(distances, np.inf)
    sizes = np.ones(len(own))
    clusters = {at: [at] for at in range(len(own))}
    while len(clusters) > count:
        kept, joined = sorted(divmod(int(distances.argmin()), len(own)))
        between = distances[kept, joined]
        total = sizes + sizes[kept] + sizes[joined]
        row = (
            (sizes + sizes[kept]) * distances[kept]
            + (sizes + sizes[joined]) * distances[joined]
            - sizes * between
        ) / total
        row[[kept, joined]] = np.inf
        distances[kept], distances[:, kept] = row, row
        distances[joined], distances[:, joined] = np.inf, np.inf
        sizes[kept] += sizes[joined]
        clusters[kept] += clusters.pop(joined)
    return sorted(sorted(group) for group in clusters.values())
