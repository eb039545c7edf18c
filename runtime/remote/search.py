"""Run pipelines on a collection in Milvus: it retrieves, and everything else is done here."""

from collections.abc import Mapping, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError, UnknownDocumentError
from ranklet.runtime.hits import Hit, Ranking, Timing
from ranklet.runtime.pipeline.candidates import text_candidates
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.execution import Execution
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Pipeline, Retrieve
from ranklet.runtime.rankers.protocol import QueryVector, Retriever
from ranklet.runtime.remote.collection import MOST, Entity, MilvusCollection, Published
from ranklet.runtime.remote.ranked import Ranked
from ranklet.runtime.search.selection import Selection
from ranklet.runtime.storage.bundle_files import BundleFiles


class RemoteSearch:
    """Runs pipelines of a bundle on a collection; shared by all threads.

    Args:
        files: the bundle.
        collection: in Milvus.
    """

    def __init__(self, files: BundleFiles, collection: MilvusCollection) -> None:
        self._files, self._collection = files, collection

    def rank(
        self,
        query: str,
        stages: Pipeline,
        selection: Selection,
        allowed: str,
        deadline: Deadline,
        now: Published,
        *,
        explain: bool,
    ) -> Ranking:
        """Rank for a query.

        While the retrieved passages belong to fewer documents, or the documents to fewer groups,
        than may come back, longer lists are retrieved.

        Args:
            query: its text.
            stages: the pipeline.
            selection: which documents come back.
            allowed: the filter, as an expression of Milvus.
            deadline: bounds every search, and the stages after the first.
            now: the collection that is searched.
            explain: whether hits are explained.

        Raises:
            InputError: the collection has no vectors for the pipeline.
            RemoteError: Milvus did not answer, or not in time.
        """
        context = QueryContext(query, self._files.analyzer.begin())
        depth, spent = stages.depth, 0.0
        while True:
            begin = perf_counter()
            lists = self._lists(context, stages, allowed, deadline, now)
            spent += (perf_counter() - begin) * 1e3
            entities = _entities(lists)
            execution = self._run(context, stages, entities, lists, deadline, now)
            ranked = Ranked(execution, entities)
            cut = any(len(lists[each.ranker]) >= each.k for each in _retrieving(stages))
            longer = stages.deeper(4)
            if not cut or deadline.passed or _longest(longer) > MOST:
                break
            if ranked.enough(selection, depth):
                break
            stages = longer
        return Ranking(
            ranked.hits(selection, execution.explain if explain else None),
            query,
            (Timing("search Milvus", spent), *execution.timings),
            execution.providers(),
            execution.truncated(),
            execution.budget_spent,
            tuple(execution.left_out),
            ignored=context.ignored,
        )

    def score(
        self, query: str, ids: Sequence[str], stages: Pipeline, allowed: str, now: Published
    ) -> NDArray[np.float32]:
        """Return the score of each document, by its texts, (ids,) float32.

        Of a document that is split, the best passage counts.

        Raises:
            UnknownDocumentError: there is no such document, or the filter hides it.
            RemoteError: Milvus did not answer.
        """
        parts = [self._parts(each, allowed, now) for each in ids]
        found = {each.key: each for entities in parts for each in entities}
        context = QueryContext(query, self._files.analyzer.begin())
        execution = self._run(
            context, stages.without_cuts(), list(found.values()), {}, Deadline(), now
        )
        scores = dict(zip(found, execution.final().tolist(), strict=True))
        return np.array([max(scores[e.key] for e in entities) for entities in parts], np.float32)

    def explained(
        self, query: str, document_id: str, stages: Pipeline, allowed: str, now: Published
    ) -> Hit:
        """Return a document as an explained hit, whether the pipeline returns it or not.

        Raises:
            UnknownDocumentError: there is no such document, or the filter hides it.
            RemoteError: Milvus did not answer.
        """
        parts = self._parts(document_id, allowed, now)
        context, deadline = QueryContext(query, self._files.analyzer.begin()), Deadline()
        lists = self._lists(context, stages, allowed, deadline, now)
        entities = _entities(lists)
        execution = self._run(context, stages, entities, lists, deadline, now)
        ranked = Ranked(execution, entities)
        if not ranked.has(document_id):  # it joins those that the pipeline scores
            known = {each.key: each for each in (*entities, *parts)}
            entities = list(known.values())
            execution = self._run(context, stages.without_cuts(), entities, {}, deadline, now)
            ranked = Ranked(execution, entities)
        return ranked.best(document_id, execution.explain)

    def _lists(
        self,
        query: QueryContext,
        stages: Pipeline,
        allowed: str,
        deadline: Deadline,
        now: Published,
    ) -> dict[str, list[tuple[Entity, float]]]:
        """Return what each retrieving stage finds in Milvus, best first, with scores."""
        found = {}
        for stage in _retrieving(stages):
            if stage.ranker not in now.fields:
                raise InputError(
                    f"the collection {now.collection!r} has no vectors of the ranker "
                    f"{stage.ranker!r} of this bundle; retrieve by {', '.join(now.fields)}"
                )
            if stage.k > MOST:
                raise InputError(f"Milvus retrieves up to {MOST:,} entities; give k ≤ {MOST:,}")
            vector = self._query_vector(stage.ranker, query)
            found[stage.ranker] = self._collection.search(
                stage.ranker, vector, stage.k, allowed, deadline, now
            )
        return found

    def _query_vector(self, name: str, query: QueryContext) -> QueryVector:
        ranker = self._files.ranker(name)
        vector = ranker.query_vector(query) if isinstance(ranker, Retriever) else None
        if vector is None:
            raise InputError(f"the ranker {name!r} has no vector of a query")
        return vector

    def _run(
        self,
        query: QueryContext,
        stages: Pipeline,
        entities: Sequence[Entity],
        lists: Mapping[str, Sequence[tuple[Entity, float]]],
        deadline: Deadline,
        now: Published,
    ) -> Execution:
        """Run a pipeline on texts, with the scores of those that were retrieved."""
        place = {each.key: at for at, each in enumerate(entities)}
        known = {name: np.full(len(entities), np.nan, np.float32) for name in lists}
        for name, found in lists.items():
            for each, score in found:
                known[name][place[each.key]] = score
        texts = [(each.key, each.title, each.text) for each in entities]
        given = text_candidates(texts, query.analysis, now.titles)
        execution = Execution(stages, self._files.ranker, None, query, given, deadline, known=known)
        with self._files.damage_reported():
            execution.run()
        return execution

    def _parts(self, document_id: str, allowed: str, now: Published) -> list[Entity]:
        """Return a document's passages, or the whole one."""
        if not isinstance(document_id, str):
            raise InputError(f"an id must be a string, not {type(document_id).__name__}")
        parts = self._collection.of_document(document_id, allowed, now)
        if not parts:
            raise UnknownDocumentError(f"unknown document id {document_id[:80]!r}")
        return parts


def _entities(lists: Mapping[str, Sequence[tuple[Entity, float]]]) -> list[Entity]:
    """Return what was retrieved, each passage once."""
    return list({each.key: each for found in lists.values() for each, _ in found}.values())


def _retrieving(stages: Pipeline) -> list[Retrieve]:
    return [each for each in stages.stages if isinstance(each, Retrieve)]


def _longest(stages: Pipeline) -> int:
    return max((each.k for each in _retrieving(stages)), default=0)
