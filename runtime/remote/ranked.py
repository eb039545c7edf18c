"""The passages that a pipeline ranked of a collection in Milvus, and which of them come back."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Hit
from ranklet.runtime.pipeline.candidates import TextCandidates
from ranklet.runtime.pipeline.execution import Execution
from ranklet.runtime.remote.collection import Entity
from ranklet.runtime.search.selection import Selection

Explain = Callable[[int], Explanation]  # by the place of a candidate


class Ranked:
    """Passages, or whole documents, best first.

    Args:
        execution: has run on the entities.
        entities: its candidates.
    """

    def __init__(self, execution: Execution, entities: Sequence[Entity]) -> None:
        found, self._positions, self._scores = execution.top(len(execution.candidates))
        places = found.places if isinstance(found, TextCandidates) else ()
        self._place = {each.key: at for at, each in enumerate(entities)}
        self._ordered = [entities[at] for at in places]
        self._first: dict[str, int] = {}  # by document, the place of its best passage
        for at, each in enumerate(self._ordered):
            self._first.setdefault(each.document, at)

    def enough(self, selection: Selection, depth: int) -> bool:
        """Return whether no longer list has more of the documents or groups that are wanted.

        Args:
            selection: what is wanted.
            depth: how many documents the pipeline can return.
        """
        if selection.group_by is None:
            return len(self._first) >= min(selection.reach, depth)
        scores = self._best_scores()
        if selection.above(scores) < len(scores):  # what comes later has lower scores, too
            return True
        return len(np.unique(self._groups(selection.group_by))) >= selection.reach

    def hits(self, selection: Selection, explain: Explain | None) -> tuple[Hit, ...]:
        """Return the hits that come back."""
        groups = None if selection.group_by is None else self._groups(selection.group_by)
        chosen = selection.chosen(self._best_scores(), groups)
        first = list(self._first.values())
        return tuple(self._hit(first[at], explain) for at in chosen.tolist())

    def has(self, document_id: str) -> bool:
        """Return whether a passage of a document was ranked."""
        return document_id in self._first

    def best(self, document_id: str, explain: Explain) -> Hit:
        """Return the best passage of a document that was ranked."""
        return self._hit(self._first[document_id], explain)

    def _best_scores(self) -> NDArray[np.float32]:
        """Return the score of each document's best passage, best first, (documents,) float32."""
        return self._scores[list(self._first.values())]

    def _hit(self, rank: int, explain: Explain | None) -> Hit:
        entity, score = self._ordered[rank], float(self._scores[rank])
        explanation = None if explain is None else explain(int(self._positions[rank]))
        return Hit(
            entity.document, score, entity.title, entity.text, self._place[entity.key],
            explanation, entity.passage, entity.metadata,
        )  # fmt: skip

    def _groups(self, name: str) -> NDArray[np.intp]:
        """Return the number of each document's group, (documents,); see `Selection`."""
        numbers: dict[object, int] = {}
        found = [
            numbers.setdefault(self._ordered[at].metadata.get(name, (at,)), len(numbers))
            for at in self._first.values()
        ]
        return np.array(found, np.intp)
