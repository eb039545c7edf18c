"""Fuse several scores of the same candidates into one, and explain it by what each input adds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.pipeline import Fuse

RRF_CONSTANT = 60  # near-optimal and not critical, according to Cormack et al. 2009

Rank = TypeVar("Rank", float, NDArray[np.float64])
Column = NDArray[np.float32]  # one score per candidate, NaN if a ranker did not return it
Reasons = Callable[[str], Explanation]  # returns the explanation of an input's score


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


def most(stage: Fuse, fusions: Mapping[str, Fuse]) -> float:
    """Return the score of a document that matches perfectly: each input is 1, or ranks it first.

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


def explain_linear(stage: Fuse, scales: Sequence[float], reasons: Reasons) -> Explanation:
    """Explain Σ weight · scale · score by the scores, each in the unit of the sum.

    Args:
        stage: the fusion.
        scales: the scale of each input.
        reasons: explains the score of an input.
    """
    parts = [
        reasons(name).scaled(weight * scale, f"{weight:.4g}·{name}")
        for name, weight, scale in zip(stage.inputs, stage.weights, scales, strict=True)
    ]
    return Explanation.total(str(stage), parts)


def explain_reciprocal_ranks(stage: Fuse, ranks: Sequence[float], reasons: Reasons) -> Explanation:
    """Explain Σ weight / (60 + rank) by the lists that contain the document.

    Args:
        stage: the fusion.
        ranks: the document's rank in each list, from 1, NaN if it is absent.
        reasons: explains the score that an input ranked the document by.
    """
    return Explanation.total(
        str(stage),
        [
            Explanation(
                f"{name}: rank {rank:.0f}",
                reciprocal(rank, weight),
                reasons=because(name, reasons(name)),
            )
            for name, rank, weight in zip(stage.inputs, ranks, stage.weights, strict=True)
            if not np.isnan(rank)
        ],
    )


def explain_alternate(
    stage: Fuse, value: float, ranks: Sequence[float], reasons: Reasons
) -> Explanation:
    """Explain 1 / place in a merged list by the list whose turn it was; see `alternate`."""
    when = turns(np.array(ranks)).tolist()
    if np.isnan(when).all():
        return Explanation(
            f"{stage}: 1 / place {round(1 / value)}, in no list for want of time", value
        )
    first = min(range(len(when)), key=lambda at: np.inf if np.isnan(when[at]) else when[at])
    parts = []
    for at, (name, rank) in enumerate(zip(stage.inputs, ranks, strict=True)):
        if not np.isnan(rank):
            label = f"{name}: rank {rank:.0f}" + ("" if at == first else ", whose turn came later")
            amount = value if at == first else 0.0
            parts.append(Explanation(label, amount, reasons=because(name, reasons(name))))
    return Explanation.total(f"{stage}: 1 / place {round(1 / value)}", parts)


def because(name: str, explanation: Explanation) -> Explanation:
    """Return the explanation of an input's score with a label that says whose score it is."""
    label = f"because {name} scores {explanation.value:.4g} ({explanation.label})"
    return replace(explanation, label=label)
