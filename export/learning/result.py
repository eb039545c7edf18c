"""What `learn` has found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.export.learning.calibrate import Refit
from ranklet.export.learning.costs import Cost
from ranklet.runtime.bundle import Bundle


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
        target: the bundle that was written, or None if nothing was sure to gain.
        rows: the input, then the pipelines on the way to the chosen one, at most ten.
        measure: of the values.
        parts: how many queries were learned from, tuned on, chosen on and reported on.
        skipped: what was not tried or not chosen, with the reason.
        seen: how many reported queries share a relevant document with any other query.
        bm25: the settings that were tuned, in words; empty if they were not.
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
    seen: int = 0
    bm25: str = ""
    relevance: Refit | None = None
    minutes: float = 0.0
    memory: float = 0.0
    why: str = ""

    def gain(self, row: Row) -> Interval:
        """Return what a pipeline gains over the input on the reported queries."""
        return interval(row.values, self.rows[0].values)

    @cached_property
    def bundle(self) -> Bundle | None:
        """The bundle that was written, open, or None."""
        return None if self.target is None else Bundle(self.target)

    @property
    def kept(self) -> Row | None:
        """The pipeline that was chosen, if one was."""
        return next((row for row in self.rows if row.kept), None)


def provenance_of(learned: Learned) -> dict[str, Any]:
    """Return what a bundle records of the judgements that it was learned from."""
    return {
        "by": "ranklet learn",
        "measure": learned.measure,
        "queries": dict(zip(("learn", "tune", "choose", "report"), learned.parts, strict=True)),
        "rows": [
            {"pipeline": row.name, "value": round(float(np.mean(row.values)), 6)}
            for row in learned.rows
        ],
        "skipped": dict(learned.skipped),
        "bm25": learned.bm25,
    }
