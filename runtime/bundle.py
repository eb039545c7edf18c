"""A loaded bundle: what `runtime.load` returns and all ranking goes through."""

from collections.abc import Sequence
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
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.resolve import Recipe, chosen
from ranklet.runtime.pipeline.stages import Pipeline
from ranklet.runtime.storage.bundle_files import BundleFiles, Check
from ranklet.runtime.storage.manifest import Manifest
from ranklet.runtime.text.analysis import FIELDS, Analysis
from ranklet.runtime.text.ranked import ranked_part


class Bundle:
    """A bundle ready to rank; immutable, shared by all threads.

    Args:
        path: a folder or an uncompressed .zip.
        check, device, strict: see :class:`ranklet.runtime.storage.bundle_files.BundleFiles`.

    Raises:
        BundleError: missing, damaged, hostile or of another version.
    """

    def __init__(
        self,
        path: str | Path,
        check: Check = "fast",
        *,
        device: str = "auto",
        strict: bool = False,
    ) -> None:
        self._bundle = BundleFiles(path, check, device=device, strict=strict)

    def __repr__(self) -> str:
        manifest = self.manifest
        return (
            f"<ranklet bundle {str(self._bundle.path)!r}: {manifest.documents:,} documents, "
            f"rankers {', '.join(manifest.rankers) or 'none'}>"
        )

    def __len__(self) -> int:
        """Return the number of documents in the collection."""
        return self.manifest.documents

    @property
    def manifest(self) -> Manifest:
        """What the bundle says about itself."""
        return self._bundle.manifest

    def sample_texts(self, count: int) -> list[str]:
        """Return titles of documents, evenly spaced, or beginnings of texts: queries to try."""
        return self._bundle.need_documents().samples(count)

    def rank(
        self,
        query: str,
        documents: Sequence[Document] | None = None,
        *,
        k: int = 10,
        pipeline: Recipe = None,
        explain: bool = False,
        budget_ms: float | None = None,
    ) -> Ranking:
        """Rank the collection, or the caller's own documents, for a query.

        Args:
            query: what the user asks; not empty.
            documents: the caller's own texts, ranked instead of the collection; all of them come
                back (up to k); by lexical rankers those that match nothing last, with a score of 0.
            k: how many hits at most; 0 gives an empty answer, more than there are gives all.
            pipeline: a pipeline's name, a `Pipeline` or its list of stages; None is the default.
            explain: explain the score of each hit.
            budget_ms: milliseconds after which no further stage begins: hits come in the order of
                what was done, and the `Ranking` tells what was not. The first stage always is.

        Returns:
            The hits, best first; empty where no word of the query is known to the collection.

        Raises:
            InputError: the query is empty or not a string, k is not a whole number ≥ 0, a document
                is not a text, or the budget no number of milliseconds.
            UnknownRankerError: no such pipeline, or it names a ranker that is not in the bundle.
            BundleError: the bundle is damaged, or has no collection and no documents are given.
        """
        check_query(query)
        check_k(k)
        check_budget(budget_ms)
        deadline = Deadline(budget_ms)
        analysis = self._bundle.analyzer.begin()
        own = None if documents is None else own_documents(documents)
        given = None if own is None else text_candidates(own, analysis, self.manifest.titles)
        recipe = chosen(pipeline, self.manifest)
        if given is not None:  # all of them come back, so nothing is cut before the end
            recipe = recipe.without_cuts()
        execution = self._execute(QueryContext(query, analysis), recipe, given, deadline)
        begin = perf_counter()
        top, positions, scores = execution.top(k)
        hits = []
        for at, position in enumerate(positions.tolist()):
            index = position if top.stored is None else int(top.stored[at])
            record = own[index] if own is not None else self._bundle.need_documents().record(index)
            explanation = self._explain(execution, position) if explain else None
            hits.append(Hit(record[0], float(scores[at]), *record[1:], index, explanation))
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
        )

    def rank_ids(
        self, query: str, *, k: int = 1000, pipeline: Recipe = None
    ) -> list[tuple[str, float]]:
        """Rank the collection and return (id, score) only: for long runs, no text is read.

        Raises:
            InputError, UnknownRankerError, BundleError: as `rank`.
        """
        check_query(query)
        check_k(k)
        asked = QueryContext(query, self._bundle.analyzer.begin())
        top, _, scores = self._execute(asked, chosen(pipeline, self.manifest), None).top(k)
        return list(zip(self._ids(top), scores.tolist(), strict=True))

    def rank_batch(
        self,
        queries: Sequence[str],
        *,
        k: int = 10,
        pipeline: Recipe = None,
        explain: bool = False,
        budget_ms: float | None = None,
    ) -> list[Ranking]:
        """Rank the collection for several queries; the same as `rank` of each.

        `budget_ms` is for all of them: once it is spent, the rest do their first stage only.

        Raises:
            InputError: as `rank`; the message names the query's place.
        """
        each_query = listed(queries, "queries", "call rank for one")
        for at, query in enumerate(each_query):
            check_query(query, f"queries[{at}]")
        check_budget(budget_ms)
        deadline = Deadline(budget_ms)
        return [
            self.rank(each, k=k, pipeline=pipeline, explain=explain, budget_ms=deadline.left_ms())
            for each in each_query
        ]

    def score(
        self,
        query: str,
        documents: Sequence[Document] | None = None,
        *,
        ids: Sequence[str] | None = None,
        pipeline: Recipe = None,
    ) -> NDArray[np.float32]:
        """Score documents for a query, in the order given.

        Args:
            query: what the user asks; not empty.
            documents: the caller's own texts; or
            ids: documents of the collection.
            pipeline: as in `rank`; every ranker of it scores every document.

        Returns:
            One score a document, (documents,) float32.

        Raises:
            InputError: as `rank`; both or neither of `documents` and `ids`; an unknown id.
        """
        check_query(query)
        analysis = self._bundle.analyzer.begin()
        given: Candidates
        if documents is not None and ids is None:
            given = text_candidates(own_documents(documents), analysis, self.manifest.titles)
        elif ids is not None and documents is None:
            given = self._by_id(listed(ids, "ids", "put the one id in a list"))
        else:
            raise InputError("give either documents (texts) or ids (of the collection)")
        recipe = chosen(pipeline, self.manifest)
        execution = self._execute(QueryContext(query, analysis), recipe.without_cuts(), given)
        return execution.final()

    def explain(self, query: str, document_id: str, *, pipeline: Recipe = None) -> Explanation:
        """Explain the score of one document of the collection, ranked high or not.

        A document that the pipeline does not return is explained as if it had been retrieved with
        the others: a fusion by ranks knows its rank only among them.

        Raises:
            InputError: as `rank`; an unknown id.
        """
        check_query(query)
        asked = QueryContext(query, self._bundle.analyzer.begin())
        wanted = self._by_id([document_id]).stored
        recipe = chosen(pipeline, self.manifest)
        execution = self._execute(asked, recipe, None)
        place = np.flatnonzero(numbers_of(execution.candidates) == wanted)
        if not len(place):
            whole = self._execute(asked, recipe.without_cuts(), None)
            others = numbers_of(whole.candidates)
            numbers = np.append(others[others != wanted], wanted)
            given = StoredCandidates(self._bundle.need_documents(), numbers)
            execution = self._execute(asked, recipe.without_cuts(), given)
            place = np.array([len(numbers) - 1])
        return self._explain(execution, int(place[0]))

    def explained(self, query: str, document_id: str, *, pipeline: Recipe = None) -> Hit:
        """Return a document of the collection as a hit with its explanation; see `explain`."""
        found = self.explain(query, document_id, pipeline=pipeline)
        documents = self._bundle.need_documents()
        number = documents.number(document_id)
        return Hit(document_id, found.value, *documents.record(number)[1:], number, found)

    def highlight(self, hit: Hit) -> list[Span]:
        """Return where in ``title + newline + text`` an explained hit's score comes from."""
        if hit.explanation is None:
            raise InputError("this hit has no explanation; rank with explain=True")
        text, at = ranked_part(hit.title, hit.text, self.manifest.titles)
        return [each.shifted(at) for each in spans(hit.explanation, text, self.analysis)]

    def analysis(self, field: str) -> Analysis:
        """Return the analysis of texts in a field that an explanation names."""
        if field in FIELDS:
            return self._bundle.analyzer.begin()
        ranker = self._bundle.ranker(field.removeprefix(RANKER_FIELD))
        return (ranker.analyzer or self._bundle.analyzer).begin()

    def features(
        self, query: str, *, pipeline: Recipe = None
    ) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
        """Return the candidates' ids and every ranker's scaled scores of them.

        This is what fusion weights are learned on: the numbers that serving adds up.
        """
        check_query(query)
        execution = self._execute(
            QueryContext(query, self._bundle.analyzer.begin()),
            chosen(pipeline, self.manifest),
            None,
        )
        return self._ids(execution.candidates), execution.scaled()

    def _execute(
        self,
        query: QueryContext,
        recipe: Pipeline,
        given: Candidates | None,
        deadline: Deadline | None = None,
    ) -> Execution:
        bundle = self._bundle
        execution = Execution(recipe, bundle.ranker, bundle.documents, query, given, deadline)
        with self._bundle.damage_told():
            execution.run()
        return execution

    def _explain(self, execution: Execution, position: int) -> Explanation:
        with self._bundle.damage_told():
            return execution.explain(position)

    def _ids(self, candidates: Candidates) -> list[str]:
        ids = self._bundle.need_documents().ids
        return [ids[number] for number in numbers_of(candidates).tolist()]

    def _by_id(self, ids: Sequence[str]) -> StoredCandidates:
        documents = self._bundle.need_documents()
        numbers = [documents.number(each) for each in ids]
        return StoredCandidates(documents, np.array(numbers, np.uint32))
