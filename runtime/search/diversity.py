"""Let hits differ from one another, by maximal marginal relevance."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.storage.forward import Gathered

# Returns how similar the hit at a place is to each, from 0 to 1, (hits,).
Similarity = Callable[[int], NDArray[np.floating]]


def diverse(
    scores: NDArray[np.float32], similarity: Similarity, diversity: float, count: int
) -> NDArray[np.intp]:
    """Return the places of hits in another order: each is relevant, and unlike those before it.

    The next one has the largest (1 − diversity) · score − diversity · (similarity to the most
    similar one before), where scores are from 0, of the last hit, to 1, of the first
    (Carbonell & Goldstein 1998, §2).

    >>> alike = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]])
    >>> diverse(np.array([3, 2.9, 2], np.float32), alike.__getitem__, 0.6, 3).tolist()
    [0, 2, 1]

    Args:
        scores: best first, (hits,).
        similarity: of hits.
        diversity: 0 leaves the order as it is.
        count: how many are chosen; the others follow in their order.
    """
    best, least = (float(scores.max()), float(scores.min())) if len(scores) else (1.0, 0.0)
    spread = best - least or 1.0
    left = (1 - diversity) * ((scores.astype(np.float64) - least) / spread)
    nearest, chosen = np.zeros(len(scores)), list[int]()
    for _ in range(min(count, len(scores))):
        place = int(np.argmax(left - diversity * nearest))
        chosen.append(place)
        left[place] = -np.inf
        nearest = np.maximum(nearest, similarity(place))
    return np.append(np.array(chosen, np.intp), np.flatnonzero(left > -np.inf))


def by_vectors(vectors: NDArray[np.float32]) -> Similarity:
    """Return the cosine of hits, 0 if it is below, by their vectors, (hits, dimension) float32."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))
    unit = vectors / np.where(lengths, lengths, 1.0)[:, None]
    return lambda place: np.maximum(np.einsum("nd,d->n", unit, unit[place]), 0.0)


def by_words(words: Gathered) -> Similarity:
    """Return the share of the different words of two hits that both have (Jaccard).

    >>> by_words(Gathered(np.array([7, 8, 9, 8, 9]), np.array([3, 2])))(0).tolist()
    [1.0, 0.6666666666666666]
    """
    distinct, column = np.unique(words.tokens, return_inverse=True)
    has = np.zeros((len(words.lengths), len(distinct)), np.float32)
    has[words.owner, column] = 1
    sizes = has.sum(axis=1, dtype=np.float64)

    def similarity(place: int) -> NDArray[np.float64]:
        common = (has @ has[place]).astype(np.float64)  # whole numbers, so exact in any order
        either = sizes + sizes[place] - common
        return np.asarray(common / np.where(either, either, 1.0))

    return similarity
