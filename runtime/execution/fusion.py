"""Fuse several scores of the same candidates into one, and explain it by what each input adds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.pipeline import FIXED, Fuse

RRF_CONSTANT = 60  # near-optimal and not critical, according to Cormack et al. 2009

Rank = TypeVar("Rank", float, NDArray[np.float64])
Column = NDArray[np.float32]  # one score per candidate, NaN if a ranker did not return it
Reasons = Callable[[str], Explanation]  # returns the explanation of an input's score


class Scaling(NamedTuple):
    """How the scores of a ranker are scaled for one query: factor · (score − origin).

    Attributes:
        factor: the factor.
        origin: the score that becomes 0.
        spread: what the scores are divided by, which is 1 / factor; 0 for the fixed scale.
    """

    factor: float
    origin: float = 0.0
    spread: float = 0.0

    def apply(self, column: Column) -> NDArray[np.float64]:
        """Return the scaled scores, (candidates,) float64, NaN where a score is missing."""
        return self.factor * (column.astype(np.float64) - self.origin)

    def term(self, name: str) -> str:
        """Return in words what the weight is multiplied by.

        >>> Scaling(0.2).term("bm25"), Scaling(0.5, spread=2.0).term("bm25")
        ('bm25', 'bm25 / 2')
        >>> Scaling(0.5, -3.0, 2.0).term("cross")
        '(cross - -3) / 2'
        """
        if not self.spread:
            return name
        return f"{f'({name} - {self.origin:.4g})' if self.origin else name} / {self.spread:.4g}"


def scaling_of(method: str, column: Column, scale: float) -> Scaling:
    """Return the scaling of a ranker's scores by its name.

    Without any difference between scores there is nothing to divide by. This also holds for a
    single candidate and for none. Then the fixed scale remains, which orders the candidates as the
    other rankers do, keeps amounts small, and lets the explanation of a single text name its words.

    >>> column = np.array([4, 2, np.nan], np.float32)
    >>> scalings = ("fixed", "variance", "minmax")
    >>> [scaling_of(each, column, 0.1).factor for each in scalings]
    [0.1, 1.0, 0.5]
    >>> {scaling_of(each, column[1:], 0.1).factor for each in scalings}
    {0.1}

    Args:
        method: ``fixed`` is the ranker's own scale, for the others see `variance` and `minmax`.
        column: scores of the query's candidates. Missing ones (NaN) do not count.
        scale: the ranker's own scale.
    """
    scores = column[~np.isnan(column)].astype(np.float64)
    if method == FIXED or not len(scores) or scores.min() == scores.max():
        return Scaling(scale)
    return variance(scores) if method == "variance" else minmax(scores)


def variance(scores: NDArray[np.float64]) -> Scaling:
    """Return the scaling to unit variance: score / √(Σ (score − mean)² / candidates).

    The mean is not subtracted, because it changes no order.

    >>> variance(np.array([1.0, 3.0])).apply(np.array([1, 3], np.float32)).tolist()
    [1.0, 3.0]

    Args:
        scores: (candidates,), not all equal.
    """
    deviation = float(scores.std())
    return Scaling(1 / deviation, spread=deviation)


def minmax(scores: NDArray[np.float64]) -> Scaling:
    """Return the scaling to 0 … 1: (score − lowest) / (highest − lowest).

    >>> minmax(np.array([1.0, 3.0])).apply(np.array([1, 2, 3], np.float32)).tolist()
    [0.0, 0.5, 1.0]

    Args:
        scores: (candidates,), not all equal.
    """
    lowest, spread = float(scores.min()), float(np.ptp(scores))
    return Scaling(1 / spread, lowest, spread)


def linear(columns: list[Column], weights: tuple[float, ...], scalings: list[Scaling]) -> Column:
    """Return Σ weight · scaled score (Boytsov & Kolter, §4.1).

    Scores are summed in float64, so that the order of the inputs does not matter.
    """
    total = np.zeros(len(columns[0]), np.float64)
    for column, weight, scaling in zip(columns, weights, scalings, strict=True):
        total += weight * scaling.factor * (column.astype(np.float64) - scaling.origin)
    return total.astype(np.float32)


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


def explain_linear(stage: Fuse, scalings: Sequence[Scaling], reasons: Reasons) -> Explanation:
    """Explain Σ weight · factor · (score − origin) by the scores, each in the unit of the sum.

    Where scores are counted from another origin than 0, that is a part of its own.

    Args:
        stage: the fusion.
        scalings: the scaling of each input for this query.
        reasons: explains the score of an input.
    """
    parts = []
    for name, weight, scaling in zip(stage.inputs, stage.weights, scalings, strict=True):
        label, factor = f"{weight:.4g}·{scaling.term(name)}", weight * scaling.factor
        score = reasons(name)
        if scaling.origin:
            origin = f"from {scaling.origin:.4g}, the lowest score of the candidates"
            shares = [score.scaled(factor, name), Explanation(origin, -factor * scaling.origin)]
            parts.append(Explanation.total(label, shares))
        else:
            parts.append(score.scaled(factor, label))
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
