"""A loaded bundle, which `runtime.load` returns and which ranks, scores and explains."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.arguments import (
    Document,
    check_budget,
    check_k,
    check_query,
    listed,
    own_documents,
)
from ranklet.runtime.display import common_words, strongest
from ranklet.runtime.errors import InputError
from ranklet.runtime.explanation import RANKER_FIELD, Explanation
from ranklet.runtime.highlight import Span, spans
from ranklet.runtime.hits import Hit, Ranking, Timing
from ranklet.runtime.pipeline.candidates import (
    Candidates,
    StoredCandidates,
    numbers_of,
    text_candidates,
)
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.execution import Execution
from ranklet.runtime.pipeline.fusion import FIXED
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.resolve import PipelineLike, resolve_pipeline
from ranklet.runtime.pipeline.stages import Pipeline
from ranklet.runtime.storage.bundle_files import PASSAGES, BundleFiles, Check
from ranklet.runtime.storage.manifest import Manifest
from ranklet.runtime.text.analysis import FIELDS, Analysis
from ranklet.runtime.text.ranked import ranked_part


class Bundle:
    """A bundle that is ready to rank; immutable and shared by all threads.

    Args:
        path: a folder or an uncompressed .zip.
        check: ``fast`` or ``full``; see `load`.
        device: where models run; see `load`.
        strict: whether a missing device is an error; see `load`.

    Raises:
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(
        self, path: str | Path, check: Check = "fast", *, device: str = "auto", strict: bool = False
    ) -> None:
        self._bundle = BundleFiles(path, check, device=device, strict=strict)

    def __repr__(self) -> str:
        rankers = ", ".join(self.manifest.rankers) or "none"
        return f"<ranklet bundle {str(self._bundle.path)!r}: {self.size}, rankers {rankers}>"

    def __len__(self) -> int:
        """Return the number of documents in the collection; passages of one count once."""
        return self._bundle.need_documents().whole if self.passages else self.manifest.documents

    @property
    def passages(self) -> int:
        """The number of passages that are ranked; 0 if all documents are whole."""
        return self.manifest.documents if self._bundle.has(PASSAGES) else 0

    @property
    def size(self) -> str:
        """How many documents there are, in words, and how many passages if they are split."""
        passages = f" in {self.passages:,} passages" if self.passages else ""
        return f"{len(self):,} document{'' if len(self) == 1 else 's'}{passages}"

    @property
    def path(self) -> Path:
        """The bundle's folder or .zip."""
        return self._bundle.path

    @property
    def device(self) -> str:
        """Where models run; see `load`."""
        return self._bundle.device

    @property
    def strict(self) -> bool:
        """Whether a missing device is an error; see `load`."""
        return self._bundle.strict

    @property
    def manifest(self) -> Manifest:
        """The description of the bundle."""
        return self._bundle.manifest

    def sample_texts(self, count: int) -> list[str]:
        """Return titles of evenly spaced documents, or beginnings of texts, as sample queries."""
        return self._bundle.need_documents().samples(count)

    def rank(
        self,
        query: str,
        documents: Sequence[Document] | None = None,
        *,
        k: int = 10,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
    ) -> Ranking:
        """Rank the collection, or the caller's own documents, for a query.

        Args:
            query: the query's text, not empty.
            documents: the caller's own texts, which are ranked instead of the collection. All of
                them are returned, up to k. Lexical rankers give texts without a match the score 0.
            k: maximum number of hits.
            pipeline: a pipeline's name, a `Pipeline` or its list of stages; None is the default.
            explain: whether to explain the score of each hit.
            budget_ms: milliseconds after which no further stage begins. The hits are ordered by the
                finished stages, and `Ranking.left_out` lists the others. The first stage is always
                finished.

        Returns:
            The hits, best first; empty if the collection has no word of the query.

        Raises:
            InputError: the query is empty or not a string, k is not a whole number ≥ 0, a document
                is not a text, or the budget is not a number of milliseconds.
            UnknownRankerError: the pipeline is unknown, or uses a ranker that is not in the bundle.
            BundleError: the bundle is damaged, or has no collection and no documents are passed.
        """
        check_query(query)
        check_k(k)
        check_budget(budget_ms)
        deadline = Deadline(budget_ms)
        analysis = self._bundle.analyzer.begin()
        own = None if documents is None else own_documents(documents)
        texts = None if own is None else text_candidates(own, analysis, self.manifest.titles)
        stages = resolve_pipeline(pipeline, self.manifest)
        if texts is not None:  # all of them are returned, so no stage may drop any
            stages = stages.without_cuts()
        execution = self._reaching(k, QueryContext(query, analysis), stages, texts, deadline)
        begin = perf_counter()
        top, positions, scores = execution.top(k)
        hits = []
        for rank, position in enumerate(positions.tolist()):
            index = position if top.stored is None else int(top.stored[rank])
            explanation = self._explain(execution, position) if explain else None
            score = float(scores[rank])
            if own is None:
                hits.append(self._hit(index, score, explanation))
            else:
                hits.append(Hit(own[index][0], score, *own[index][1:], index, explanation))
        timing = Timing("explain hits" if explain else "read hits", (perf_counter() - begin) * 1e3)
        timings = (*execution.timings, timing)
        return Ranking(
            tuple(hits),
            query,
            timings,
            execution.providers(),
            execution.truncated(),
            execution.budget_spent,
            tuple(execution.left_out),
            partial(self.marks, query, pipeline=pipeline),
        )

    def rank_ids(
        self, query: str, *, k: int = 1000, pipeline: PipelineLike = None
    ) -> list[tuple[str, float]]:
        """Rank the collection and return only (id, score), without reading any text.

        Raises:
            InputError, UnknownRankerError, BundleError: as `rank`.
        """
        check_query(query)
        check_k(k)
        context = QueryContext(query, self._bundle.analyzer.begin())
        stages = resolve_pipeline(pipeline, self.manifest)
        top, _, scores = self._reaching(k, context, stages, None).top(k)
        return list(zip(self._ids(top), scores.tolist(), strict=True))

    def rank_batch(
        self,
        queries: Sequence[str],
        *,
        k: int = 10,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
    ) -> list[Ranking]:
        """Rank the collection for several queries as `rank` does for each.

        They share `budget_ms`. Once it is spent, the remaining queries run only their first stage.

        Raises:
            InputError: as `rank`; the message contains the query's index.
        """
        texts = listed(queries, "queries", "call rank for one")
        for index, query in enumerate(texts):
            check_query(query, f"queries[{index}]")
        check_budget(budget_ms)
        deadline = Deadline(budget_ms)
        return [
            self.rank(text, k=k, pipeline=pipeline, explain=explain, budget_ms=deadline.left_ms())
            for text in texts
        ]

    def score(
        self,
        query: str,
        documents: Sequence[Document] | None = None,
        *,
        ids: Sequence[str] | None = None,
        pipeline: PipelineLike = None,
    ) -> NDArray[np.float32]:
        """Score documents for a query, in their order.

        Args:
            query: the query's text, not empty.
            documents: the caller's own texts, unless `ids` is passed.
            ids: ids of documents in the collection.
            pipeline: as in `rank`; every ranker of it scores every document.

        Returns:
            One score per document, (documents,) float32.

        Raises:
            InputError: as `rank`, or both or none of `documents` and `ids` are passed, or an id is
                unknown.
        """
        check_query(query)
        analysis = self._bundle.analyzer.begin()
        candidates: Candidates
        begins: list[int] | None = None
        if documents is not None and ids is None:
            candidates = text_candidates(own_documents(documents), analysis, self.manifest.titles)
        elif ids is not None and documents is None:
            candidates, begins = self._by_id(listed(ids, "ids", "put the one id in a list"))
        else:
            raise InputError("pass either documents (texts) or ids (of the collection)")
        stages = resolve_pipeline(pipeline, self.manifest).without_cuts()
        scores = self._execute(QueryContext(query, analysis), stages, candidates).final()
        # Of a document that is split, the best passage counts.
        return np.maximum.reduceat(scores, begins) if begins else scores

    def explain(
        self, query: str, document_id: str, *, pipeline: PipelineLike = None
    ) -> Explanation:
        """Explain the score of one document of the collection, ranked high or not.

        A document that the pipeline does not return is added to its candidates and explained there,
        because a rank fusion depends on the other candidates.

        Raises:
            InputError: as `rank`, or the id is unknown.
        """
        check_query(query)
        return self._explained(query, document_id, pipeline)[1]

    def explained(self, query: str, document_id: str, *, pipeline: PipelineLike = None) -> Hit:
        """Return a document of the collection as a hit with its explanation; see `explain`."""
        check_query(query)
        number, explanation = self._explained(query, document_id, pipeline)
        return self._hit(number, explanation.value, explanation)

    def _explained(
        self, query: str, document_id: str, pipeline: PipelineLike
    ) -> tuple[int, Explanation]:
        """Return the number of a document, or of its best passage, and its explanation."""
        context = QueryContext(query, self._bundle.analyzer.begin())
        documents = self._bundle.need_documents()
        parts = documents.passages(documents.number(document_id))
        stages = resolve_pipeline(pipeline, self.manifest)
        execution = self._execute(context, stages, None)
        if not np.isin(parts, numbers_of(execution.candidates)).any():
            uncut = self._execute(context, stages.without_cuts(), None)
            others = numbers_of(uncut.candidates)
            numbers = np.append(others[~np.isin(others, parts)], parts)
            candidates = StoredCandidates(documents, numbers)
            execution = self._execute(context, stages.without_cuts(), candidates)
        numbers = numbers_of(execution.candidates)
        positions = np.flatnonzero(np.isin(numbers, parts))
        best = int(positions[np.argmax(execution.final()[positions])])
        return int(numbers[best]), self._explain(execution, best)

    def _hit(self, number: int, score: float, explanation: Explanation | None) -> Hit:
        documents = self._bundle.need_documents()
        record = documents.record(number)
        passage = documents.passage(number)
        return Hit(record[0], score, *record[1:], number, explanation, passage)

    def highlight(self, hit: Hit) -> list[Span]:
        """Return the spans of ``title + newline + text`` that an explained score comes from."""
        if hit.explanation is None:
            raise InputError("this hit has no explanation; rank with explain=True")
        text, offset = ranked_part(hit.title, hit.text, self.manifest.titles)
        return [span.shifted(offset) for span in spans(hit.explanation, text, self.analysis)]

    def marks(self, query: str, hit: Hit, pipeline: PipelineLike = None) -> list[tuple[int, int]]:
        """Return the characters of ``title + newline + text`` to mark in a hit.

        They are those that raise an explained score most, or else the words that the query has,
        too. If there are none, the hit is explained on its own.
        """
        if hit.explanation is not None:
            return strongest(self.highlight(hit))
        text = f"{hit.title}\n{hit.text}"
        analysis = self._bundle.analyzer.begin() if self.manifest.documents else None
        if common := common_words(query, text, analysis):
            return common
        own = [{"title": hit.title, "text": hit.text}]
        (alone,) = self.rank(query, own, k=1, pipeline=pipeline, explain=True)
        return strongest(self.highlight(alone))

    def analysis(self, field: str) -> Analysis:
        """Return an analysis for a field of an explanation."""
        if field in FIELDS:
            return self._bundle.analyzer.begin()
        ranker = self._bundle.ranker(field.removeprefix(RANKER_FIELD))
        return (ranker.analyzer or self._bundle.analyzer).begin()

    def features(
        self, query: str, *, pipeline: PipelineLike = None, scaling: str = FIXED
    ) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
        """Return the candidates' ids and their scaled scores by ranker; see `Fuse.scaling`.

        Fusion weights are learned on these scores, because serving adds up the same numbers. They
        are in the collection's order, which decides between equal sums. A document that is split
        has those of the passage that the pipeline ranks highest.
        """
        check_query(query)
        context = QueryContext(query, self._bundle.analyzer.begin())
        execution = self._execute(context, resolve_pipeline(pipeline, self.manifest), None)
        columns = execution.scaled(scaling)
        found, positions, _ = execution.top(len(execution.candidates))
        order = np.argsort(numbers_of(found))
        scores = {name: column[positions[order]] for name, column in columns.items()}
        return self._ids(found.select(order)), scores

    def _execute(
        self,
        query: QueryContext,
        pipeline: Pipeline,
        candidates: Candidates | None,
        deadline: Deadline | None = None,
    ) -> Execution:
        bundle = self._bundle
        execution = Execution(
            pipeline, bundle.ranker, bundle.documents, query, candidates, deadline
        )
        with self._bundle.damage_reported():
            execution.run()
        return execution

    def _reaching(
        self,
        k: int,
        query: QueryContext,
        pipeline: Pipeline,
        candidates: Candidates | None,
        deadline: Deadline | None = None,
    ) -> Execution:
        """Run a pipeline so that passages of few documents do not keep others from the first k.

        While the retrieved passages belong to fewer documents, longer lists are retrieved. A run
        for which there is not enough time is dropped.
        """
        execution = self._execute(query, pipeline, candidates, deadline)
        if not self.passages or candidates is not None:
            return execution
        wanted = min(k, pipeline.depth)
        while execution.cut and not execution.budget_spent and execution.documents < wanted:
            pipeline = pipeline.deeper(4)
            longer = self._execute(query, pipeline, None, deadline)
            if longer.budget_spent:
                break
            longer.timings = [*execution.timings, *longer.timings]
            execution = longer
        return execution

    def _explain(self, execution: Execution, position: int) -> Explanation:
        with self._bundle.damage_reported():
            return execution.explain(position)

    def _ids(self, candidates: Candidates) -> list[str]:
        ids = self._bundle.need_documents().ids
        return [ids[number] for number in numbers_of(candidates).tolist()]

    def _by_id(self, ids: Sequence[str]) -> tuple[StoredCandidates, list[int]]:
        """Return all passages of some documents, and where each document's passages begin."""
        documents = self._bundle.need_documents()
        numbers = [documents.passages(documents.number(each)) for each in ids]
        begins = list(accumulate(map(len, numbers), initial=0))[:-1]
        stored = np.concatenate([np.empty(0, np.uint32), *numbers])
        return StoredCandidates(documents, stored), begins
