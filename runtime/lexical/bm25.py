"""Compute BM25 in the variant that Lucene uses and bm25s calls "lucene", and BM25F over fields."""

from collections.abc import Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating | np.integer]


def idf(df: Numbers, documents: int | Numbers) -> NDArray[np.float32]:
    """Return the inverse document frequency ln(1 + (N − df + ½) / (df + ½)), never negative.

    Source: Robertson & Zaragoza 2009, eq. 3.3, plus the 1 in the logarithm that Lucene adds so
    that a term in more than half of the documents cannot lower their scores.

    >>> [f"{value:.3f}" for value in idf(np.array([0, 1, 10]), 10)]
    ['3.091', '1.992', '0.047']
    """
    df = np.asarray(df, np.float64)
    return np.asarray(np.log1p((documents - df + 0.5) / (df + 0.5)), np.float32)


def boosted(every: Numbers, of_title: Numbers, title_boost: float) -> NDArray[np.float32]:
    """Return counts of tokens in which each token of a title counts `title_boost` times.

    Applied to frequencies and to lengths, this is the BM25 of texts that have their title so often.

    Args:
        every: counts in title and text together.
        of_title: counts in the title, of the shape of `every`.
        title_boost: how often a token of the title counts, ≥ 1.

    >>> boosted(np.array([3, 2]), np.array([1, 0]), 2.5).tolist()
    [4.5, 2.0]
    """
    more = np.float32(title_boost - 1) * np.asarray(of_title, np.float32)
    return np.asarray(np.asarray(every, np.float32) + more, np.float32)


def saturation(
    tf: Numbers, length: Numbers, average_length: float, k1: float, b: float
) -> NDArray[np.float32]:
    """Return the saturated term frequency tf / (tf + k1 (1 − b + b·length/average)), in [0, 1).

    Source: Robertson & Zaragoza 2009, eq. 3.15, without the constant factor k1 + 1, which changes
    no ranking (Lucene dropped it in version 8).

    Args:
        tf: occurrences of the term in a document.
        length: number of tokens in that document, of the shape of `tf` or broadcast to it.
        average_length: mean number of tokens per document of the collection.
        k1: how slowly repetitions saturate, ≥ 0.
        b: strength of the length normalisation, 0 to 1.

    >>> shares = saturation(np.array([1.0, 9.0]), np.array([10.0]), 10.0, k1=1.0, b=0.5)
    >>> [f"{share:.2f}" for share in shares]
    ['0.50', '0.90']
    """
    tf = np.asarray(tf, np.float32)
    relative = np.asarray(length, np.float32) / np.float32(max(average_length, 1e-9))
    norm = np.float32(k1) * (np.float32(1 - b) + np.float32(b) * relative)
    # With k1 = 0 the norm is 0, so any number of occurrences counts 1 and no occurrence counts 0.
    return np.asarray(tf / np.maximum(tf + norm, np.float32(1e-9)), np.float32)


def field_amount(
    tf: Numbers, length: Numbers, average_length: float, b: float
) -> NDArray[np.float32]:
    """Return tf / (1 − b + b·length/average), a term's frequency in a field of usual length.

    Source: Robertson & Zaragoza 2009, eq. 3.19 and 3.20 (BM25F), from Zaragoza et al. 2004.

    Args:
        tf: occurrences of the term in a document's field.
        length: number of tokens there, of the shape of `tf` or broadcast to it.
        average_length: mean number of tokens of the field, of the documents that have it.
        b: strength of the length normalisation, 0 to 1.

    >>> field_amount(np.array([1, 3]), np.array([2, 8]), 4.0, 0.5).tolist()
    [1.3333333730697632, 2.0]
    """
    relative = np.asarray(length, np.float32) / np.float32(max(average_length, 1e-9))
    norm = np.maximum(np.float32(1 - b) + np.float32(b) * relative, np.float32(1e-9))
    return np.asarray(np.asarray(tf, np.float32) / norm, np.float32)


def saturate_sum(
    amounts: Iterable[NDArray[np.float32]], weights: Iterable[float], k1: float
) -> NDArray[np.float32]:
    """Return x / (k1 + x) of the weighted sum x of a term's amounts in all fields, in [0, 1).

    Frequencies are added before they saturate, because a word that a title has once more says less
    than another word of the query would.

    Source: Robertson, Zaragoza & Taylor 2004, §3; Robertson & Zaragoza 2009, eq. 3.21.

    Args:
        amounts: of each field, all of one shape; see `field_amount`.
        weights: of each field, ≥ 0.
        k1: how slowly repetitions saturate, ≥ 0.

    >>> saturate_sum([np.array([1.0, 0.0]), np.array([0.5, 0.5])], [1, 2], 2.0).tolist()
    [0.5, 0.3333333432674408]
    """
    weighted = (
        np.float32(weight) * np.asarray(amount, np.float32)
        for amount, weight in zip(amounts, weights, strict=True)
    )
    total = reduce(np.add, weighted)
    return np.asarray(total / np.maximum(total + np.float32(k1), np.float32(1e-9)), np.float32)
