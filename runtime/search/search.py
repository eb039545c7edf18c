"""Run pipelines on the documents of a bundle that a caller may see."""

import numpy as np

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.pipeline.candidates import Candidates, StoredCandidates, numbers_of
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.execution import Execution
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Pipeline
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
        k: int,
        query: QueryContext,
        pipeline: Pipeline,
        candidates: Candidates | None,
        deadline: Deadline | None = None,
        *,
        where: Where | None = None,
    ) -> Execution:
        """Run a pipeline so that passages of few documents do not keep others from the first k.

        While the retrieved passages belong to fewer documents, longer lists are retrieved. A run
        for which there is not enough time is dropped.
        """
        execution = self.execute(query, pipeline, candidates, deadline, where=where)
        if not self._visible.passages or candidates is not None:
            return execution
        wanted = min(k, pipeline.depth)
        while execution.cut and not execution.budget_spent and execution.documents < wanted:
            pipeline = pipeline.deeper(4)
            longer = self.execute(query, pipeline, None, deadline, where=where)
            if longer.budget_spent:
                break
            longer.timings = [*execution.timings, *longer.timings]
            execution = longer
        return execution

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
