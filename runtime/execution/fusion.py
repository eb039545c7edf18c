"""Fuse several scores of the same candidates into one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ranklet.runtime.pipelines.pipeline import Fuse

RRF_CONSTANT = 60  # near-optimal and not critical, according to Cormack et al. 2009

Rank = TypeVar("Rank", float, NDArray[np.float64])
Column = NDArray[np.float32]  # one score per candidate, NaN if a ranker did not return it


def linear(columns: list[Column], weights: tuple[float, ...], scales: Sequence[float]) -> Column:
    """Return Σ weight · scale · score (Boytsov & Kolter, §4.1).

    Scores are summed in float64, so that the order of the inputs does not matter.

    Args:
        columns: the scores of each input.
        weights: one per input.
        scales: by which the scores of each input are comparable with those of others.
    """
    total = np.zeros(len(columns[0]), np.float64)
    for column, weight, scale in zip(columns, weights, scales, strict=True):
        total += weight * scale * column.astype(np.float64)
    return total.astype(np.float32)


def boosted(column: Column, amounts: NDArray[np.float64], weights: Sequence[float]) -> Column:
    """Return score + Σ weight · amount, summed in float64 in their order.

    >>> boosted(np.array([1, np.nan], np.float32), np.array([[1, 0], [1, 1]]), [0.5, 1]).tolist()
    [2.5, nan]

    Args:
        column: the scores.
        amounts: what each signal says, (signals, candidates).
        weights: of each signal.
    """
    total = column.astype(np.float64)
    for weight, each in zip(weights, amounts, strict=True):
        total += weight * each
    return total.astype(np.float32)


def most(stage: "Fuse", fusions: "Mapping[str, Fuse]") -> float:
    """Return the score of a document that matches perfectly: each input is 1, or ranks it first.

    >>> from ranklet.runtime.pipelines.pipeline import Fuse
    >>> most(Fuse("linear", ("a", "b"), (0.5, 1.0)), {})
    1.5

    Args:
        stage: the fusion.
        fusions: the fusions that may be among its inputs, by name.
    """
    if stage.method == "alternate":
        return 1.0
    if stage.method == "rrf":
        return sum(abs(reciprocal(1.0, weight)) for weight in stage.weights)
    return sum(
        abs(weight) * (most(fusions[name], fusions) if name in fusions else 1.0)
        for name, weight in zip(stage.inputs, stage.weights, strict=True)
    )


def ranks(column: Column) -> NDArray[np.float64]:
    """Return each candidate's rank in a list, from 1, ties by position, NaN if it is absent.

    >>> ranks(np.array([0.5, np.nan, 0.9], np.float32)).tolist()
    [2.0, nan, 1.0]
    """
    positions = np.full(len(column), np.nan)
    present = np.flatnonzero(~np.isnan(column))
    order = present[np.argsort(-column[present], kind="stable")]
    positions[order] = np.arange(1, len(order) + 1)
    return positions


def reciprocal_ranks(ranks: NDArray[np.float64], weights: tuple[float, ...]) -> Column:
    """Return Σ weight / (60 + rank) over the lists that contain a candidate.

    Source: Cormack, Clarke & Büttcher 2009, "Reciprocal rank fusion", §2.

    Args:
        ranks: the ranks in each list, as returned by `ranks`, (lists, candidates).
        weights: one per list.
    """
    shares = [
        reciprocal(list_ranks, weight) for list_ranks, weight in zip(ranks, weights, strict=True)
    ]
    return np.asarray(np.nansum(np.stack(shares), axis=0), np.float32)


def reciprocal(rank: Rank, weight: float) -> Rank:
    """Return a list's share in a score, weight / (60 + rank), NaN for a rank of NaN."""
    return weight / (RRF_CONSTANT + rank)


def turns(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return when the lists name their candidates in turn: rank r of list i (of m) is m(r − 1) + i.

    Args:
        ranks: the ranks in each list, (lists, …), NaN if a list does not have a candidate.
    """
    lists = np.arange(len(ranks)).reshape(-1, *[1] * (ranks.ndim - 1))
    return np.asarray(len(ranks) * (ranks - 1) + lists)


def alternate(ranks: NDArray[np.float64]) -> Column:
    """Merge lists by taking the first of each, then the second of each, …, without repetitions.

    Source: Zhan et al. 2020 (RepBERT), eq. 6. The score is 1 / place in the merged list.

    >>> a, b = np.array([3, 2, 1, np.nan]), np.array([2, np.nan, 1, 3])  # a: 0 1 2; b: 3 0 2
    >>> [round(float(1 / score)) for score in alternate(np.stack([ranks(a), ranks(b)]))]
    [1, 3, 4, 2]

    Args:
        ranks: the ranks in each list, as returned by `ranks`, (lists, candidates).
    """
    # The earliest turn of a candidate counts. It is NaN, which sorts last, if no list has it.
    earliest = np.fmin.reduce(turns(ranks), axis=0)
    merged = np.empty(len(earliest), np.float64)
    merged[np.argsort(earliest, kind="stable")] = np.arange(1, len(earliest) + 1)
    return (1 / merged).astype(np.float32)
