"""Run pipelines on the documents of a bundle that a caller may see."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Hit
from ranklet.runtime.pipeline.candidates import Candidates, StoredCandidates, numbers_of
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.execution import Execution
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Pipeline
from ranklet.runtime.search.selection import Selection, groups_of
from ranklet.runtime.search.visible import Visible, Where
from ranklet.runtime.storage.bundle_files import BundleFiles


class Search:
    """Runs pipelines on a bundle; immutable and shared by all threads.

    Args:
        files: the bundle.
        visible: the documents that can be found.
    """

    def __init__(self, files: BundleFiles, visible: Visible) -> None:
        self._files, self._visible = files, visible

    def execute(
        self,
        query: QueryContext,
        pipeline: Pipeline,
        candidates: Candidates | None = None,
        deadline: Deadline | None = None,
        *,
        where: Where | None = None,
    ) -> Execution:
        """Run a pipeline on candidates, or on the documents that a filter allows.

        Raises:
            InputError: the filter cannot be used.
            BundleError: the bundle is damaged.
        """
        mask = self._visible.allowed(where) if candidates is None else None
        files = self._files
        execution = Execution(
            pipeline, files.ranker, files.documents, query, candidates, deadline, mask
        )
        with files.damage_reported():
            execution.run()
        return execution

    def reaching(
        self,
        selection: Selection,
        query: QueryContext,
        pipeline: Pipeline,
        candidates: Candidates | None,
        deadline: Deadline | None = None,
        *,
        where: Where | None = None,
    ) -> Execution:
        """Run a pipeline so that a few documents or groups do not keep others from the answer.

        While the retrieved passages belong to fewer documents, or the documents to fewer groups,
        than may come back, longer lists are retrieved. A run for which there is not enough time is
        dropped.
        """
        execution = self.execute(query, pipeline, candidates, deadline, where=where)
        if candidates is not None:
            return execution
        depth = pipeline.depth
        while (
            execution.cut
            and not execution.budget_spent
            and self._too_few(execution, selection, depth)
        ):
            pipeline = pipeline.deeper(4)
            longer = self.execute(query, pipeline, None, deadline, where=where)
            if longer.budget_spent:
                break
            longer.timings = [*execution.timings, *longer.timings]
            execution = longer
        return execution

    def _too_few(self, execution: Execution, selection: Selection, depth: int) -> bool:
        """Return whether longer lists may have more documents or groups of those that are wanted.

        Passages are never retrieved for more documents than the pipeline can return, `depth`.
        """
        if selection.group_by is None:
            wanted = min(selection.reach, depth)
            return bool(self._visible.passages) and execution.documents < wanted
        found, _, scores = execution.top(len(execution.candidates))
        count = selection.above(scores)
        if count < len(scores):  # what comes later has lower scores, too
            return False
        groups = groups_of(selection.group_by, numbers_of(found), self._visible.metadata)
        return len(np.unique(groups)) < selection.reach

    def chosen(
        self, execution: Execution, selection: Selection
    ) -> tuple[Candidates, NDArray[np.intp], NDArray[np.float32]]:
        """Return the candidates that come back, their positions among all, and their scores."""
        if selection.group_by is None:
            found, positions, scores = execution.top(selection.reach)
            places = selection.chosen(scores, None)
        else:
            found, positions, scores = execution.top(len(execution.candidates))
            name, numbers = selection.group_by, numbers_of(found)
            places = selection.chosen(scores, groups_of(name, numbers, self._visible.metadata))
        return found.select(places), positions[places], scores[places]

    def features(
        self, query: QueryContext, pipeline: Pipeline, scaling: str
    ) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
        """Return the candidates' ids and their scaled scores by ranker; see `Bundle.features`."""
        execution = self.execute(query, pipeline)
        columns = execution.scaled(scaling)
        found, positions, _ = execution.top(len(execution.candidates))
        order = np.argsort(numbers_of(found))
        scores = {name: column[positions[order]] for name, column in columns.items()}
        return self._visible.ids(found.select(order)), scores

    def hits(
        self,
        execution: Execution,
        selection: Selection,
        own: Sequence[tuple[str, str, str]] | None,
        *,
        explain: bool,
    ) -> tuple[Hit, ...]:
        """Return the hits that come back.

        Args:
            execution: the finished pipeline.
            selection: which documents come back.
            own: the id, title and text of each of the caller's documents; None for the collection.
            explain: whether hits have explanations.
        """
        top, positions, scores = self.chosen(execution, selection)
        if own is None:
            self._visible.fetch(top, tokens=explain)
        hits = []
        for rank, position in enumerate(positions.tolist()):
            index = position if top.stored is None else int(top.stored[rank])
            explanation = self.explain(execution, position) if explain else None
            score = float(scores[rank])
            if own is None:
                hits.append(self._visible.hit(index, score, explanation))
            else:
                hits.append(Hit(own[index][0], score, *own[index][1:], index, explanation))
        return tuple(hits)

    def explained(
        self, query: QueryContext, document_id: str, stages: Pipeline
    ) -> tuple[int, Explanation]:
        """Return the number of a document, or of its best passage, and its explanation."""
        parts = self._visible.parts(document_id)
        execution = self.execute(query, stages)
        if not np.isin(parts, numbers_of(execution.candidates)).any():
            uncut = self.execute(query, stages.without_cuts())
            others = numbers_of(uncut.candidates)
            numbers = np.append(others[~np.isin(others, parts)], parts)
            candidates = StoredCandidates(self._files.need_documents(), numbers)
            execution = self.execute(query, stages.without_cuts(), candidates)
        numbers = numbers_of(execution.candidates)
        positions = np.flatnonzero(np.isin(numbers, parts))
        best = int(positions[np.argmax(execution.final()[positions])])
        return int(numbers[best]), self.explain(execution, best)

    def explain(self, execution: Execution, position: int) -> Explanation:
        """Explain the score of the candidate at a position."""
        with self._files.damage_reported():
            return execution.explain(position)
