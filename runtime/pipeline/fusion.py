"""How several scores of the same candidates become one."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

RRF_CONSTANT = 60  # Cormack et al. 2009 found it near-optimal and little sensitive

Rank = TypeVar("Rank", float, NDArray[np.float64])
Column = NDArray[np.float32]  # one score a candidate, NaN where a ranker did not return it


def linear(columns: list[Column], weights: tuple[float, ...], scales: list[float]) -> Column:
    """Return Σ weight · scale · score: paper 000, §4.1, with each ranker's own normalisation.

    Scores are summed in float64, so that the order of the inputs changes nothing.
    """
    total = np.zeros(len(columns[0]), np.float64)
    for column, weight, scale in zip(columns, weights, scales, strict=True):
        total += weight * scale * column.astype(np.float64)
    return total.astype(np.float32)


def ranks(column: Column) -> NDArray[np.float64]:
    """Return the rank of each candidate in a list, from 1, ties by position; NaN where absent.

    >>> ranks(np.array([0.5, np.nan, 0.9], np.float32)).tolist()
    [2.0, nan, 1.0]
    """
    found = np.full(len(column), np.nan)
    present = np.flatnonzero(~np.isnan(column))
    order = present[np.argsort(-column[present], kind="stable")]
    found[order] = np.arange(1, len(order) + 1)
    return found


def reciprocal_ranks(columns: list[Column], weights: tuple[float, ...]) -> Column:
    """Return Σ weight / (60 + rank), over the lists that a candidate is in.

    Source: Cormack, Clarke & Büttcher 2009, "Reciprocal rank fusion", §2.
    """
    listed = zip(columns, weights, strict=True)
    shares = np.stack([reciprocal(ranks(column), weight) for column, weight in listed])
    return np.asarray(np.nansum(shares, axis=0), np.float32)


def reciprocal(rank: Rank, weight: float) -> Rank:
    """Return a list's share in a score, weight / (60 + rank); NaN for a rank of NaN."""
    return weight / (RRF_CONSTANT + rank)


def alternate(columns: list[Column]) -> Column:
    """Merge lists in turn: the first of each, the second of each, …; a later repeat is dropped.

    Source: Zhan et al. 2020 (RepBERT, paper 004), eq. 6. The score is 1 / place in the merged list.

    >>> a, b = np.array([3, 2, 1, np.nan]), np.array([2, np.nan, 1, 3])  # a: 0 1 2; b: 3 0 2
    >>> [round(float(1 / score)) for score in alternate([a, b])]
    [1, 3, 4, 2]
    """
    # Place r of list i (of m) stands at m (r − 1) + i; the earliest place of a candidate counts.
    places = np.stack([len(columns) * (ranks(each) - 1) + at for at, each in enumerate(columns)])
    earliest = np.fmin.reduce(places, axis=0)  # NaN, which sorts last, where no list has it
    merged = np.empty(len(earliest), np.float64)
    merged[np.argsort(earliest, kind="stable")] = np.arange(1, len(earliest) + 1)
    return (1 / merged).astype(np.float32)
