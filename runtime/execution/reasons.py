"""Explain fusions: what each ranker's score or rank adds, and why it ranked a document there."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ranklet.runtime.execution import fusion
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.pipeline import Fuse

Reasons = Callable[[str], Explanation]  # returns the explanation of an input's score


def explain_linear(
    stage: Fuse, scalings: Sequence[fusion.Scaling], reasons: Reasons
) -> Explanation:
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
                fusion.reciprocal(rank, weight),
                reasons=because(name, reasons(name)),
            )
            for name, rank, weight in zip(stage.inputs, ranks, stage.weights, strict=True)
            if not np.isnan(rank)
        ],
    )


def explain_alternate(
    stage: Fuse, value: float, ranks: Sequence[float], reasons: Reasons
) -> Explanation:
    """Explain 1 / place in a merged list by the list whose turn it was; see above."""
    turns = fusion.turns(np.array(ranks)).tolist()
    first = min(range(len(turns)), key=lambda at: np.inf if np.isnan(turns[at]) else turns[at])
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
