"""Divide a text's vector among its tokens, which is possible where pooling is a weighted sum."""

import numpy as np
from numpy.typing import NDArray

ADDITIVE = ("mean", "weighted_mean", "mean_sqrt")  # poolings that are weighted sums of the states


def pooling_weights(pooling: str, tokens: int) -> NDArray[np.float64]:
    """Return the weight of each token's state in the pooled vector, (tokens,).

    >>> pooling_weights("mean", 2).tolist(), pooling_weights("mean_sqrt", 4).tolist()
    ([0.5, 0.5], [0.5, 0.5, 0.5, 0.5])
    >>> pooling_weights("weighted_mean", 3).round(3).tolist()
    [0.167, 0.333, 0.5]

    Args:
        pooling: one of `ADDITIVE`.
        tokens: number of tokens, at least 1.
    """
    if pooling == "weighted_mean":
        places = np.arange(1.0, tokens + 1)
        return np.asarray(places / places.sum())
    return np.full(tokens, 1 / (np.sqrt(tokens) if pooling == "mean_sqrt" else tokens))


def token_shares(
    states: NDArray[np.float32], pooling: str, dimension: int, *, normalise: bool
) -> NDArray[np.float64]:
    """Return what each token adds to the vector of a text; the sum over tokens is the vector.

    Args:
        states: the states of the tokens, after any layers that follow the pooling, (tokens, hidden)
            float32.
        pooling: one of `ADDITIVE`.
        dimension: numbers that are kept of a vector.
        normalise: whether the vector has the length 1.

    Returns:
        (tokens, dimension) float64.
    """
    kept = states[:, :dimension].astype(np.float64)
    if not len(kept):
        return kept
    shares = pooling_weights(pooling, len(kept))[:, None] * kept
    length = float(np.linalg.norm(shares.sum(0))) if normalise else 1.0
    return shares / (length or 1.0)
