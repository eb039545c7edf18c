"""Score explicit term matches by a learned form of BM25 (Mitra et al., eq. 4)."""

import numpy as np
from numpy.typing import NDArray

EPSILON = 1e-6  # against division by zero; the paper gives no value

Numbers = NDArray[np.floating | np.integer]


def term_match(
    tf: Numbers,
    length: Numbers,
    idf: Numbers,
    *,
    tf_mean: float,
    length_mean: float,
    weight: float,
    bias: float,
) -> NDArray[np.float32]:
    """Return IDF · BS(TF) / (BS(TF) + ReLU(w · BS(|d|) + b) + ε) (Mitra et al., eq. 4).

    BS(x) = x / (E[x] + ε), with the means of the training data. The function is BM25's saturation
    with k1 (1 − b) = E[TF] · bias, k1 · b = E[TF] · weight and the average length E[|d|].

    Args:
        tf: occurrences of the term in a document.
        length: number of terms in that document. All arrays are broadcast.
        idf: the term's idf, ≥ 0.
        tf_mean: E[TF] over the training pairs of a query term and a document, ≥ 0.
        length_mean: E[|d|] over the training documents, ≥ 0.
        weight: w, learned.
        bias: b, learned.

    >>> learned = dict(tf_mean=1.0, length_mean=10.0, weight=0.0, bias=1.0)
    >>> scores = term_match(np.array([0, 1, 3]), np.array([10.0]), np.array([2.0]), **learned)
    >>> [f"{score:.2f}" for score in scores]
    ['0.00', '1.00', '1.50']
    """
    scaled = np.asarray(tf, np.float32) / np.float32(tf_mean + EPSILON)
    relative = np.asarray(length, np.float32) / np.float32(length_mean + EPSILON)
    norm = np.maximum(np.float32(weight) * relative + np.float32(bias), 0) + np.float32(EPSILON)
    return np.asarray(np.asarray(idf, np.float32) * scaled / (scaled + norm), np.float32)
