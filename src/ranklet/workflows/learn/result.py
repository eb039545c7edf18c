"""What `learn` has found, and how it says so in a few lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.runtime.bundle import Bundle
from ranklet.workflows.learn.calibrate import Refit
from ranklet.workflows.learn.limits import Cost

MOST = 8  # rows of pipelines that are shown


@dataclass(frozen=True, eq=False)
class Row:
    """A pipeline with what it reaches and costs.

    Attributes:
        name: in words.
        values: of the queries that it was measured on, (queries,).
        base: those of the input on the same queries, (queries,).
        cost: on this machine.
        kept: whether it is the one that was chosen.
    """

    name: str
    values: NDArray[np.float64]
    base: NDArray[np.float64]
    cost: Cost
    kept: bool = False

    @property
    def gain(self) -> Interval:
        """What it gains over the input."""
        return interval(self.values, self.base)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned.

    Attributes:
        target: the bundle that was written, or None if nothing was sure to gain.
        rows: the input, then the pipeline of its own rankers that is best, then those on the way to
            the best of all.
        measure: of the values.
        parts: how many queries were learned from, tuned on, chosen on and reported on.
        skipped: what was not chosen, with the reason.
        untrained: what was not learned, with the reason, which was said before.
        seen: how many reported queries share a relevant document with any other query.
        relevance: how likely the kept pipeline's hits answer a query; None if that is as it was.
        minutes: that it took.
        memory: the largest resident memory that it took, in bytes; 0 if it is not known.
        why: why nothing was written, or empty.
    """

    target: Path | None
    rows: Sequence[Row]
    measure: str
    parts: tuple[int, int, int, int]
    skipped: Mapping[str, str] = field(default_factory=dict)
    untrained: Mapping[str, str] = field(default_factory=dict)
    seen: int = 0
    relevance: Refit | None = None
    minutes: float = 0.0
    memory: float = 0.0
    why: str = ""

    @cached_property
    def bundle(self) -> Bundle | None:
        """The bundle that was written, open, or None."""
        return None if self.target is None else Bundle(self.target)

    @property
    def kept(self) -> Row | None:
        """The pipeline that was chosen, if one was."""
        return next((row for row in self.rows if row.kept), None)


def describe_provenance(learned: Learned) -> dict[str, Any]:
    """Return what a bundle records of the judgements that it was learned from."""
    return {
        "by": "ranklet learn",
        "measure": learned.measure,
        "queries": dict(zip(("learn", "tune", "choose", "report"), learned.parts, strict=True)),
        "rows": [
            {
                "pipeline": row.name,
                "queries": len(row.values),
                "before": round(float(np.mean(row.base)), 6),
                "value": round(float(np.mean(row.values)), 6),
            }
            for row in learned.rows
        ],
        "skipped": dict(learned.skipped),
    }


def table(learned: Learned) -> str:
    """Return a table of the pipelines on the way to the chosen one, and what it means."""
    lines = [(learned.measure, "", "queries", "gain over the input (95 %)", "ms", "MB")]
    for row in (learned.rows[0], *learned.rows[1:][-MOST:]):
        name = f"{row.name}{f'  ← {marked}' if (marked := mark(learned, row)) else ''}"
        lines.append(
            (
                name,
                f"{row.values.mean():.3f}",
                f"{len(row.values):,}",
                "" if row is learned.rows[0] else str(row.gain),
                f"{row.cost.p95:.1f}",
                f"{row.cost.mb:.0f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "\n".join(
        "  ".join(
            cell.ljust(width) if place in (0, 3) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    skipped = "".join(f"\nwithout {what}: {why}" for what, why in learned.skipped.items())
    return f"{text}\n{remarks(learned)}{skipped}"


def mark(learned: Learned, row: Row) -> str:
    """Return what a pipeline is marked by; empty for one that was not chosen."""
    return "" if not row.kept else "kept" if learned.target is not None else "chosen, but not sure"


def remarks(learned: Learned) -> str:
    """Return what the values were measured on, and what restricts them."""
    count = learned.parts[3]
    said = (
        f"{count:,} queries are reported, which nothing was learned or chosen on; weights alone "
        "are proven on more, by cross-validation\na number before a ranker is its weight; ms: of a "
        "query, 95 of 100 take less; MB: the size of the bundle"
        f"\nit took {learned.minutes:.1f} minutes and {learned.memory / 1e9:.1f} GB of memory"
    )
    if learned.relevance is not None:
        said += f"\nrelevance: {learned.relevance}"
    if learned.target is None:
        said += f"\n{learned.why}, so the input stays as it is"
    if learned.seen:
        said += (
            f"\n{learned.seen:,} of them share a relevant document with other judged queries, so "
            "the gain on new documents may be smaller"
        )
    return said
