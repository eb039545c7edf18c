"""A pipeline that has run for a query, perhaps on texts, and what comes back of its candidates."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import POOL, Ask
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import list_numbers
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.execution import Execution
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.sets import among, distinct
from ranklet.runtime.hits import Hit, Ranking, Timing
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.search.groups import above, chosen
from ranklet.runtime.storage.forward import Gathered

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation

_READ_AT_ONCE = 1000  # documents whose words are compared before the deadline is looked at


class Run(ABC):
    """A pipeline that has run.

    Args:
        files: the bundle.
        query: the query.
        execution: the pipeline, which is run here. Positions are those of its candidates.

    Attributes:
        unread: what `confirm` had no time for.
        folded: by the position of a document, those of its near duplicates that were found.
        matching: the numbers of the documents that match, if no others come back.

    Raises:
        BundleError: the bundle is damaged, or has no collection and no candidates are given.
    """

    def __init__(self, files: BundleFiles, query: QueryContext, execution: Execution) -> None:
        self.files, self._query, self.execution = files, query, execution
        self.unread: list[str] = []
        self.folded: dict[int, list[int]] = {}
        self.matching: NDArray[np.uint32] | None = None
        # Returns the words of the documents that come back before all others.
        self._before: Callable[[], Gathered | None] = lambda: None
        with files.damage_reported():
            execution.run()

    @abstractmethod
    def positions(self, parts: Any) -> NDArray[np.intp]:
        """Return the positions of some documents or passages, as `Search` names them."""

    @abstractmethod
    def others(self, parts: Any) -> Any:
        """Return all candidates except some documents or passages, named as in `Search`."""

    @abstractmethod
    def ids(self, positions: NDArray[np.intp]) -> list[str]:
        """Return the ids of the documents at some positions."""

    @abstractmethod
    def groups(self, name: str, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the number of each document's group; see `Ask`."""

    def words(self, positions: NDArray[np.intp]) -> Gathered:
        """Return the words of the documents at some positions, those of one class as one."""
        return self.execution.candidates.select(positions).tokens("lemmas")

    def vectors(self, positions: NDArray[np.intp]) -> NDArray[np.float32] | None:  # noqa: ARG002
        """Return the vectors of some documents, (positions, dimension), where they are stored."""
        return None

    @abstractmethod
    def hits(
        self,
        positions: NDArray[np.intp],
        scores: Sequence[float],
        explanations: "Sequence[Explanation | None]",
    ) -> list[Hit]:
        """Return the documents at some positions as hits."""

    def fetch(  # noqa: B027  # nothing is fetched that lies here
        self, positions: NDArray[np.intp], *, tokens: bool
    ) -> None:
        """Fetch at once what hits show, and perhaps their tokens, if it lies far away."""

    def explain(self, position: int) -> "Explanation":
        """Explain the score of the candidate at a position."""
        with self.files.damage_reported():
            return self.execution.explain(position)

    def confirm(self, ask: Ask) -> None:
        """Drop candidates that the query does not allow, as far as they could come back.

        The query has found out by what is stored which documents may have its phrases. Now the best
        of these are read until there are as many as can come back, and all others are dropped.
        """
        if self._query.phrases is None:
            return
        order, owners = self.execution.order(), self.execution.candidates.owners
        numbers, fitting = list_numbers(self.execution.candidates), np.empty(0, np.intp)
        begin, size, enough = 0, 2 * ask.reach + 1, False
        while begin < len(order):
            part = order[begin : begin + size]
            fits = self._query.phrases.fitting(numbers[part])
            fitting = np.append(fitting, part[: len(fits)][fits])
            begin, size = begin + len(fits), 2 * size
            count = len(fitting if owners is None else distinct(owners[fitting]))
            enough = not ask.reorders and count >= ask.reach
            if enough or len(fits) < len(part):
                break
        self.execution.keep(fitting)
        if begin < len(order) and not enough:
            left = len(order) - begin
            self.unread = [f"read phrases: {left:,} of {len(order):,} candidates"]
            self.execution.left_out += self.unread

    def too_few(self, ask: Ask, depth: int) -> bool:
        """Return whether longer lists may hold more of the wanted documents or groups.

        Passages are never retrieved for more documents than the pipeline can return, `depth`.
        """
        execution = self.execution
        if not execution.cut or execution.budget_spent:
            return False
        if not ask.unique and ask.group_by is None:
            dropped = self._query.phrases is not None or execution.candidates.owners is not None
            return dropped and execution.documents < min(ask.reach, depth)
        name, least = ask.group_by, ask.min_score
        if least is not None and above(execution.top(len(execution.candidates))[1], least) < (
            execution.documents
        ):
            return False  # what comes later has lower scores, too
        positions, _ = self.kept(ask)
        found = positions if name is None else distinct(self.groups(name, positions))
        return len(found) < ask.reach

    def chosen(self, ask: Ask) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the positions of the documents that come back, and their scores, best first."""
        name, (positions, scores) = ask.group_by, self.kept(ask)
        if ask.diversity:
            order = self._diverse(positions[:POOL], scores[:POOL], ask)
            order = np.append(order, np.arange(len(order), len(positions)))
            positions, scores = positions[order], scores[order]
        places = chosen(ask, scores, None if name is None else self.groups(name, positions))
        return positions[places], scores[places]

    def ordered(self, ask: Ask, reach: int | None) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the positions of the first documents that reach the score, and their scores.

        Args:
            ask: what comes back.
            reach: how many are needed; None for all.
        """
        positions, scores = self.execution.top(
            len(self.execution.candidates) if reach is None else reach
        )
        count = above(scores, ask.min_score)
        return positions[:count], scores[:count]

    def kept(self, ask: Ask) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the positions of the best documents and their scores, without near duplicates.

        They are as many as can come back, or as are needed to find these.
        """
        reach = None if ask.reorders else ask.reach
        positions, scores = self.ordered(ask, reach)
        if not ask.unique:
            return positions, scores
        most = max(ask.reach, POOL) if ask.diversity else ask.reach
        places = self._unlike(positions, None if ask.group_by else most)
        return positions[places], scores[places]

    def _unlike(self, positions: NDArray[np.intp], most: int | None) -> NDArray[np.intp]:
        """Return the places of documents that are no near duplicates of better ones.

        Those that there was no time to read are among them.

        Args:
            positions: all documents, best first.
            most: how many are needed; None for all.
        """
        from ranklet.runtime.search.near_duplicates import (  # few calls ask for it
            Folding,
            number_word_sets,
        )

        given, kept = self._before(), list[int]()
        before = [] if given is None else number_word_sets(given)
        folding, self.folded = Folding(before), {}
        size = _READ_AT_ONCE if most is None else min(_READ_AT_ONCE, 2 * most + 1)
        for begin in range(0, len(positions), size):
            if begin and self.execution.deadline.passed:
                left = (
                    f"fold near duplicates: {len(positions) - begin:,} of {len(positions):,} hits"
                )
                self.execution.left_out.append(left)
                return np.append(np.array(kept, np.intp), np.arange(begin, len(positions)))
            part = positions[begin : begin + size]
            for place, words in enumerate(number_word_sets(self.words(part)), begin):
                into = folding.add(words)
                if into is None and len(kept) == most:
                    return np.array(kept, np.intp)
                if into is None:
                    kept.append(place)
                elif into >= len(before):
                    best = int(positions[kept[into - len(before)]])
                    self.folded.setdefault(best, []).append(int(positions[place]))
        return np.array(kept, np.intp)

    def _diverse(
        self, positions: NDArray[np.intp], scores: NDArray[np.float32], ask: Ask
    ) -> NDArray[np.intp]:
        """Return the places of the first documents in an order in which they differ more."""
        from ranklet.runtime.search.diversity import by_vectors, by_words, diverse

        vectors = self.vectors(positions)
        alike = by_words(self.words(positions)) if vectors is None else by_vectors(vectors)
        count = len(positions) if ask.group_by else ask.reach
        return diverse(scores, alike, float(ask.diversity or 0), count)

    def evidence(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return what says how likely some candidates answer the query; see `chances`."""
        from ranklet.runtime.pipelines.relevance import NUMBERS, OF_ALL, evidence, length

        names, count = self.execution.rankers(), len(positions)
        if not count:
            return np.empty((0, len(OF_ALL) + len(NUMBERS) * len(names)))
        columns, rankers = self.execution.scaled(), self.files.manifest.rankers
        words, shares = self._shares(positions)
        of_rankers = (
            evidence(
                columns[name].astype(np.float64), positions,
                padded=KINDS[rankers[name].kind].every_term,
            )
            for name in names
        )  # fmt: skip
        return np.hstack([np.full((count, 1), length(words)), shares[:, None], *of_rankers])

    def _shares(self, positions: NDArray[np.intp]) -> tuple[int, NDArray[np.float64]]:
        """Return how many words the query has, and its `share` in some candidates.

        A document has a word whose synonym it has. Nothing says how rare words are without an
        index of all of them.
        """
        from ranklet.runtime.lexical.bm25 import idf
        from ranklet.runtime.pipelines.relevance import share
        from ranklet.runtime.search.reading import find_postings

        text, analysis = self._query.text, self._query.analysis
        size = self.files.manifest.documents
        if not size:  # without them there is no vocabulary
            from ranklet.runtime.text.words import words

            asked, texts = list(dict.fromkeys(words(text))), self.execution.candidates
            each = [set(words(own)) for own in texts.select(positions).texts]
            contained = np.array([[word in own for word in asked] for own in each], np.bool_)
            return len(text.split()), share(np.ones(len(asked), np.float32), contained)
        ids = analysis.asked(text, "words")
        lemmas, first = np.unique(analysis.in_field(ids, "lemmas"), return_index=True)
        postings = find_postings(self.files, self.files.need_documents())
        terms = lemmas if postings is None or postings.term_of is not None else ids[first]
        counts = None if postings is None else postings.terms.frequencies(terms)
        amounts = np.ones(len(terms), np.float32) if counts is None else idf(counts, size)
        found = self.words(positions)

        def having(token: int) -> NDArray[np.bool_]:
            has = np.zeros(len(positions), np.bool_)
            has[found.owner[found.tokens == token]] = True
            return has

        contained = np.array([having(each) for each in lemmas.tolist()], np.bool_)
        contained = contained.reshape(len(lemmas), len(positions))
        for own, sides in self._query.list_synonyms("lemmas"):
            others = [np.all([having(each) for each in side], axis=0) for side in sides]
            contained[among(lemmas, np.sort(own))] |= np.any(others, axis=0)
        # Most letters are in two pairs, so pairs are twice as many as words.
        count = len(ids) // 2 if self.files.analyzer.vocabulary.by_pairs else len(ids)
        return count, share(amounts, contained.T)

    def widen(  # noqa: B027  # `Ask.refuse` refuses it where a bundle has no passages beside others
        self, hits: Sequence[Hit], positions: NDArray[np.intp], ask: Ask
    ) -> None:
        """Let hits have more passages of their documents."""

    def best_passages(self, ask: Ask) -> NDArray[np.intp]:
        """Return the positions of the best passages for a context, best first."""
        order, final = self.execution.order(), self.execution.final()
        order = order[: above(final[order], ask.min_score)][:POOL]
        if not ask.diversity:
            return order
        return order[self._diverse(order, final[order], replace(ask, k=len(order)))]

    def relevance(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how likely candidates answer the query, (positions,), with four decimals.

        Raises:
            InputError: that is not known of this pipeline.
        """
        from ranklet.runtime.pipelines.relevance import chances

        names = self.execution.rankers()
        calibration = self.files.manifest.calibration(names)
        if calibration is None:
            raise InputError(
                f"it is not known how likely hits of {', '.join(names)} answer a query; teach it "
                "by judged queries with `ranklet calibrate`, or ask for no relevance"
            )
        return chances(self.evidence(positions), calibration.weights).round(4)

    def ranking(self, ask: Ask) -> Ranking:
        """Return the hits that come back, perhaps with explanations."""
        begin, execution, explain = perf_counter(), self.execution, ask.explain
        positions, scores = self.chosen(ask)
        relevance, answerable = self._rated(positions, ask)
        if ask.min_relevance is not None and answerable is not None:
            likely = relevance >= ask.min_relevance
            positions, scores, relevance = positions[likely], scores[likely], relevance[likely]
        self.fetch(positions, tokens=explain)
        explanations: list[Explanation | None] = [None] * len(positions)
        for at, position in enumerate(positions.tolist() if explain else ()):
            if at and execution.deadline.passed:
                left = len(positions) - at
                execution.left_out.append(f"explain {left:,} of {len(positions):,} hits")
                break
            explanations[at] = self.explain(position)
        with self.files.damage_reported():
            hits = tuple(self.hits(positions, scores.tolist(), explanations))
            for hit, position in zip(hits, positions.tolist() if self.folded else (), strict=False):
                hit.folding(self.ids(np.array(self.folded.get(position, ()), np.intp)))
        for hit, probability in zip(hits, relevance.tolist(), strict=False):
            hit.rated(probability)
        if ask.widened:
            self.widen(hits, positions, ask)
        timing = Timing("explain hits" if explain else "read hits", (perf_counter() - begin) * 1e3)
        return Ranking(
            hits,
            self._query.text,
            (*execution.timings, timing),
            execution.providers(),
            execution.truncated(),
            execution.budget_spent,
            tuple(execution.left_out),
            corrections=self._query.corrections,
            ignored=self._query.ignored(alike=not hits),
            answerable=answerable,
            without=self._query.without,
        )

    def _rated(
        self, positions: NDArray[np.intp], ask: Ask
    ) -> tuple[NDArray[np.float64], float | None]:
        """Return the relevance of the hits, and of the best candidate; nothing if nobody asked."""
        if not ask.rated:
            return np.empty(0), None
        if self.execution.left_out or self._query.without:
            self.execution.left_out.append("say how likely hits answer the query")
            return np.empty(0), None
        first = len(positions) and not ask.offset
        best = positions[:1] if first else self.execution.top(1)[0]
        found = self.relevance(np.append(positions, best))
        return found[: len(positions)], float(found[-1]) if len(best) else 0.0
