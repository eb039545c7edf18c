"""What `learn` has found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.export.learning.costs import Cost


@dataclass(frozen=True, eq=False)
class Row:
    """A pipeline with what it reaches and costs.

    Attributes:
        name: in words.
        values: of the reported queries, (queries,).
        cost: on this machine.
        kept: whether it is the one that was chosen.
    """

    name: str
    values: NDArray[np.float64]
    cost: Cost
    kept: bool = False


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned.

    Attributes:
        target: the bundle that was written, or None if nothing gained.
        rows: the input, then the pipelines on the way to the chosen one, at most ten.
        measure: of the values.
        parts: how many queries were learned from, tuned on, chosen on and reported on.
        skipped: what was not tried or not chosen, with the reason.
        seen: how many reported queries share a relevant document with other parts.
        bm25: the settings that were tuned, in words.
        minutes: that it took.
        commands: that do about the same by hand; empty if nothing was written.
    """

    target: Path | None
    rows: Sequence[Row]
    measure: str
    parts: tuple[int, int, int, int]
    skipped: Mapping[str, str] = field(default_factory=dict)
    seen: int = 0
    bm25: str = ""
    minutes: float = 0.0
    commands: Sequence[str] = ()

    def gain(self, row: Row) -> Interval:
        """Return what a pipeline gains over the input on the reported queries."""
        return interval(row.values, self.rows[0].values)
