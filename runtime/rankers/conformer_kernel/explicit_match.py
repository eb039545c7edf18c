"""Explicit term matching in a learned form of BM25 (paper 002, eq. 4)."""

import numpy as np
from numpy.typing import NDArray

EPSILON = 1e-6  # against division by zero; the paper names none

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
    """Return IDF · BS(TF) / (BS(TF) + ReLU(w · BS(|d|) + b) + ε) (paper 002, eq. 4).

    BS(x) = x / (E[x] + ε), with the means of training. It is BM25's saturation with
    k1 (1 − b) = E[TF] · bias and k1 · b = E[TF] · weight, the average length being E[|d|].

    Args:
        tf: occurrences of the term in a document.
        length: terms of that document, of a shape that fits, as all others.
        idf: of the term, ≥ 0.
        tf_mean: E[TF] over the pairs of a query term and a document in training, ≥ 0.
        length_mean: E[|d|] over the documents of training, ≥ 0.
        weight: w, learned.
        bias: b, learned.

    >>> of = dict(tf_mean=1.0, length_mean=10.0, weight=0.0, bias=1.0)
    >>> found = term_match(np.array([0, 1, 3]), np.array([10.0]), np.array([2.0]), **of)
    >>> [f"{value:.2f}" for value in found]
    ['0.00', '1.00', '1.50']
    """
    scaled = np.asarray(tf, np.float32) / np.float32(tf_mean + EPSILON)
    relative = np.asarray(length, np.float32) / np.float32(length_mean + EPSILON)
    norm = np.maximum(np.float32(weight) * relative + np.float32(bias), 0) + np.float32(EPSILON)
    return np.asarray(np.asarray(idf, np.float32) * scaled / (scaled + norm), np.float32)
