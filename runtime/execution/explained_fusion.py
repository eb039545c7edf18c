"""Explain a fused score by what each input adds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.execution.fusion import reciprocal, turns
from ranklet.runtime.pipelines.pipeline import Fuse

Reasons = Callable[[str], Explanation]  # returns the explanation of an input's score


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
