"""What `learn` has found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.export.learning.candidates import Task, trainings_by_hand
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
        minutes: that it took.
        memory: the largest resident memory that it took, in bytes; 0 if it is not known.
        commands: that do about the same by hand; empty if nothing was written.
        why: why nothing was written, or empty.
    """

    target: Path | None
    rows: Sequence[Row]
    measure: str
    parts: tuple[int, int, int, int]
    skipped: Mapping[str, str] = field(default_factory=dict)
    seen: int = 0
    bm25: str = ""
    minutes: float = 0.0
    memory: float = 0.0
    commands: Sequence[str] = ()
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


def provenance_of(learned: Learned, collection: str, splits: Sequence[str]) -> dict[str, Any]:
    """Return what a bundle records of the judgements that it was learned from.

    Args:
        learned: the result.
        collection: the name of the folder of the judgements; empty if they are no collection.
        splits: the splits that a ranker of the bundle was trained on.
    """
    return {
        "by": "ranklet learn",
        "measure": learned.measure,
        "queries": dict(zip(("learn", "tune", "choose", "report"), learned.parts, strict=True)),
        **({"collection": collection, "splits": list(splits)} if collection and splits else {}),
        "rows": [
            {"pipeline": row.name, "value": round(float(np.mean(row.values)), 6)}
            for row in learned.rows
        ],
        "skipped": dict(learned.skipped),
        "bm25": learned.bm25,
    }


def by_hand(task: Task, members: Sequence[str], *, trained: bool) -> list[str]:
    """Return commands that make about the same bundle.

    Args:
        task: what was done.
        members: the rankers of the pipeline.
        trained: whether rankers were trained, and not only weighed.
    """
    weigh = f"-o better.ranklet --no-training --measure {task.options.measure}"
    if not trained:
        return [f"ranklet learn {task.files.path} JUDGED {weigh}"]
    names = [name if task.work.has(name) else f"{name}=MODEL_FOLDER" for name in members]
    titles = "" if task.titles else " --no-titles"
    return [
        *trainings_by_hand(task, members),
        f"ranklet export {' '.join(names)} -o rankers.ranklet --variants int8",
        f"ranklet index rankers.ranklet JUDGED -o indexed.ranklet{titles}",
        f"ranklet learn indexed.ranklet JUDGED {weigh}",
    ]
