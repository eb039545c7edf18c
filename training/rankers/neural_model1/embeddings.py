"""Reduce the word vectors of a larger model to the dimension of a smaller one."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError


def projected(
    embeddings: NDArray[np.float32], vocabulary: int, dimension: int
) -> NDArray[np.float32]:
    """Return word vectors projected on their principal axes, with a standard deviation of 1.

    Args:
        embeddings: word vectors, (vocabulary, any) float32.
        vocabulary: number of word pieces that is needed.
        dimension: dimension of the result, (vocabulary, dimension) float32.

    Raises:
        InputError: the word vectors are of another vocabulary or have too few dimensions.
    """
    if len(embeddings) != vocabulary or embeddings.shape[1] < dimension:
        raise InputError(
            f"the word vectors are {embeddings.shape}; they must be for {vocabulary} word pieces "
            f"and have at least {dimension} dimensions"
        )
    centred = embeddings - embeddings.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # ascending
    vectors = centred @ axes[:, -dimension:]
    return np.asarray(vectors / vectors.std(), np.float32)
