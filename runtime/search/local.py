"""Search the documents that a bundle has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import Ask, ContextAsk, Where
from ranklet.runtime.bundles.files import BundleFiles, has_synonyms
from ranklet.runtime.call.candidates import StoredCandidates, list_numbers
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask, both
from ranklet.runtime.call.protocol import Ranker, Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.execution import Execution
from ranklet.runtime.ground.errors import UnknownDocumentError
from ranklet.runtime.ground.sets import among, distinct
from ranklet.runtime.hits import Hit, Ranking, Timing
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Boost, Pipeline, Retrieve
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.search.browsing import EVERYTHING, Everything
from ranklet.runtime.search.groups import number_groups
from ranklet.runtime.search.port import Call, Search, check_whole, steadily
from ranklet.runtime.search.reading import find_postings, read_query
from ranklet.runtime.search.run import Run
from ranklet.runtime.storage.block_array import fetch_rows
from ranklet.runtime.storage.forward import Gathered
from ranklet.runtime.text.analysis import Analysis, Vocabulary

if TYPE_CHECKING:
    from ranklet.runtime.answers.context import Context
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.completion.completion import Part
    from ranklet.runtime.completion.words import PartWords
    from ranklet.runtime.hits import Completion, Count
    from ranklet.runtime.metadata.columns import Metadata
    from ranklet.runtime.metadata.facets import Facet
    from ranklet.runtime.metadata.masks import Masks
    from ranklet.runtime.metadata.where import Condition
    from ranklet.runtime.search.matches import Matches, MatchMasks
    from ranklet.runtime.search.texts import Passage
    from ranklet.runtime.syntax.query_syntax import Query
    from ranklet.runtime.text.common_words import Places
    from ranklet.runtime.text.synonyms import Match, Synonyms


class LocalSearch(Search):
    """The documents of a bundle, named by their numbers; immutable and shared by all threads.

    Args:
        files: the bundle.
        types: the types of all fields of the metadata; None for those that the bundle has.
    """

    def __init__(self, files: BundleFiles, types: Mapping[str, str] | None = None) -> None:
        super().__init__(files)
        self._fields = files.manifest.metadata if types is None else types

    @cached_property
    def columns(self) -> "Metadata":
        """The metadata of the documents."""
        from ranklet.runtime.metadata.columns import Metadata  # few queries need them

        return Metadata(self.files, self._fields)

    @cached_property
    def masks(self) -> "Masks":
        """What finds the documents that conditions allow."""
        from ranklet.runtime.metadata.masks import Masks

        return Masks(self.columns)

    def ranker(self, name: str) -> Ranker:
        """Return a ranker, opened on first use."""
        return Everything(self.documents) if name == EVERYTHING else open_ranker(self.files, name)

    countable = True

    @property
    def exists(self) -> bool:
        """Whether there are documents to rank."""
        return bool(self.files.manifest.documents)

    @property
    def vocabularies(self) -> Sequence[Vocabulary]:
        """What together has every word of the documents."""
        return [self.files.analyzer.vocabulary] if self.exists else []

    @property
    def titles(self) -> bool:
        """Whether a document's title is part of its ranked text."""
        return self.files.manifest.titles

    @property
    def metadata(self) -> Mapping[str, str]:
        """The type of each field of the documents besides id, title and text."""
        return self._fields

    def count(self, *, passages: bool = False) -> int:
        """Return the number of documents, or of passages, which is 0 if documents are whole."""
        if not self.exists or (passages and self.documents.first is None):
            return 0
        mask, documents = self.allowed(), self.documents
        if passages:
            return len(documents) if mask is None else int(np.count_nonzero(mask))
        if mask is None:
            return documents.whole
        return int(np.count_nonzero(mask if documents.begins is None else mask[documents.begins]))

    def samples(self, count: int) -> list[str]:
        """Return the titles of evenly spaced documents, or the beginnings of untitled texts."""
        mask = self.allowed()
        among = None if mask is None else np.flatnonzero(mask).tolist()
        return self.documents.samples(count, among)

    def read(self, query: "str | Query", deadline: Deadline | None = None) -> QueryContext:
        """Return a query that is ready to rank by."""
        visible = partial(self.allowed, deadline=deadline)
        columns = None if isinstance(query, str) else self.columns
        read = read_query(query, self.files, visible=visible, deadline=deadline, columns=columns)
        read.synonyms = self.synonyms(read.text)
        read.find_ends = partial(self.ends, read.text, read.analysis)
        return read

    def synonyms(self, query: str) -> "list[Match]":
        """Return the words of a query that have synonyms, with these."""
        return [] if self._synonyms is None else self._synonyms.matches(query)

    def ends(self, query: str, analysis: Analysis | None = None) -> "list[Match]":
        """Return the words of a query that no document has, with those that end with them."""
        from ranklet.runtime.text.synonyms import match_ends  # few languages join words

        every = self.vocabularies
        if not every or not every[0].joins:
            return []
        mask = self.allowed()
        if mask is None and analysis is not None and not analysis.has_unknown_word(query):
            return []
        parts = self.part_words(mask)
        return list(match_ends(query, every, lambda word: any(e.frequency(word) for e in parts)))

    @cached_property
    def _synonyms(self) -> "Synonyms | None":
        if not self.exists or not has_synonyms(self.files.path):
            return None
        from ranklet.runtime.bundles.synonyms import open_synonyms  # few bundles have any

        return open_synonyms(self.files)

    @property
    def has_current_synonyms(self) -> bool:
        """Whether the file of synonyms beside the bundle is the one that was read, if one was."""
        from ranklet.runtime.bundles.synonyms import read_synonyms

        if "_synonyms" not in self.__dict__:
            return True
        text = read_synonyms(self.files)
        return text == ("" if self._synonyms is None else self._synonyms.text)

    def complete(self, typed: str, k: int, where: Where | None) -> "list[Completion]":
        """Return what a person may go on to type; see `Bundle.complete`."""
        from ranklet.runtime.completion.completion import complete  # few programs need it

        with self.files.damage_reported():
            return complete(typed, k, self.part_completions(self.allowed(where)))

    def suggestion(self, query: "str | Query", call: Call) -> str | None:
        """Return what may have been meant by a query; see `Search`."""
        deadline, mask = call.deadline or Deadline(), self.allowed()
        known = mask is None and not call.query.has_unknown
        if known or not call.query.reads_words or deadline.passed:
            return None
        from ranklet.runtime.completion.suggestion import suggestion  # few queries need it

        parts = self.part_words(mask)
        with self.files.damage_reported():
            return suggestion(query, parts, deadline) if parts else None

    def part_completions(self, mask: Mask | None) -> "list[Part]":
        """Return what each part completes by, for whom a mask shows its documents."""
        from ranklet.runtime.completion.completion import Part
        from ranklet.runtime.completion.values import list_values

        key = "completions", tuple(self.columns.types)
        titles, fields = self.files.once(key, lambda: list_values(self.documents, self.columns))
        words = self.part_words(mask)
        whole = None if mask is None else self.documents.extend_whole(mask)
        values = {"title": (titles, whole), **{name: (fields[name], mask) for name in fields}}
        return [Part(values, words[0] if words else None)]

    def part_words(self, mask: Mask | None) -> "list[PartWords]":
        """Return the words of each part, [] if no index has all of them."""
        from ranklet.runtime.completion.words import PartWords

        postings = find_postings(self.files, self.documents)
        return [] if postings is None else [PartWords(self.documents, postings, mask)]

    def frequency(self, word: str) -> int | None:
        """Return how many documents that may be seen have a word; None if that is not known."""
        parts = self.part_words(self.allowed())
        with self.files.damage_reported():
            return sum(each.frequency(word) for each in parts) if parts else None

    def features(
        self, query: str, pipeline: Pipeline, ask: Ask
    ) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
        """Return the candidates' ids and their scaled scores by ranker; see `Bundle.features`."""
        call = self._call(query, pipeline, ask)
        run = self._run(call)
        check_whole(call.query)
        columns = run.execution.scaled()
        positions, _ = run.execution.top(len(run.execution.candidates))
        order = positions[np.argsort(list_numbers(run.execution.candidates)[positions])]
        return run.ids(order), {name: column[order] for name, column in columns.items()}

    def restricted(self, condition: "Condition", types: Mapping[str, str]) -> Self:
        """Return the search as if there were only the documents that a condition allows.

        What decides who sees a document is compared with its sha256, however the bundle is checked.
        """
        part = super().restricted(condition, types)
        from ranklet.runtime.metadata.where import list_fields

        self.columns.compare(list_fields(condition))
        return part

    def allowed(self, where: Where | None = None, deadline: Deadline | None = None) -> Mask | None:
        """Return which documents a call may return, (documents,) bool; None allows all.

        Raises:
            InputError: the filter cannot be used.
            OutOfTimeError: there is no time to evaluate it.
        """
        condition = self.condition(where)
        return self.visible(condition, deadline)

    def visible(
        self, condition: "Condition | None", deadline: Deadline | None, _: None = None
    ) -> Mask | None:
        """Return which documents a condition allows, (documents,) bool; None allows all."""
        return None if condition is None else self.masks.mask(condition, deadline)

    def _run(self, call: Call, reach: int | None = None) -> "_LocalRun":
        query, pipeline, deadline, *_ = call
        allowed, documents = self._ranked_ones(call), self.documents if self.exists else None
        (first, *_), rankers = pipeline.rankers, self.files.manifest.rankers
        by_words = first in rankers and KINDS[rankers[first].kind].every_term
        if pipeline.boost is not None and by_words:
            from ranklet.runtime.search.boosting import over_all_matches

            pipeline = over_all_matches(pipeline, len(self.documents))
        execution = Execution(
            pipeline, self.ranker, documents, query, None, deadline, allowed, reach=reach,
            amounts=self.amounts,
        )  # fmt: skip
        return _LocalRun(self, query, execution, call.pinned)

    def _ranked_ones(self, call: Call) -> Mask | None:
        """Return which documents a call ranks, (documents,) bool; None for all."""
        mask = self.allowed(call.where, call.deadline)
        if call.hidden is None or call.pinned is None:
            return mask
        mask = np.ones(len(self.documents), np.bool_) if mask is None else mask.copy()
        mask[call.hidden] = mask[call.pinned] = False
        return mask

    def _rank(self, call: Call, ask: Ask) -> Ranking:
        """Rank without the documents that are hidden, after those that are pinned."""
        pins, hides = self._named(call, ask)
        if not (pins or hides):
            return self._rank_others(call, ask)
        pinned, hidden = self._known_parts(pins), self._known_parts(hides)
        mask = self.allowed(call.where, call.deadline)
        shown = [part for part in pinned.values() if mask is None or mask[part[0]]]
        call = call._replace(hidden=_joined(hidden.values()), pinned=_joined(shown))
        here = shown[ask.offset : ask.reach]
        others = replace(
            ask, k=ask.k - len(here), offset=max(0, ask.offset - len(shown)), pin=None, hide=None
        )
        ranking = self._rank_others(call, others)
        asked = dict.fromkeys([*(ask.pin or ()), *(ask.hide or ())])
        unknown = tuple(each for each in asked if each not in pinned | hidden)
        if here:
            run = self._run_on(call._replace(pipeline=call.pipeline.without_cuts()), here)
            ranking = run.place_pinned(ranking, here, ask)
        return replace(ranking, unknown=unknown)

    def _named(self, call: Call, ask: Ask) -> tuple[dict[str, None], dict[str, None]]:
        """Return the ids that are pinned, and those that are hidden; a caller's before a rule's."""
        pins, hides = dict.fromkeys(ask.pin or ()), dict.fromkeys(ask.hide or ())
        if not ask.rules or self._synonyms is None:
            return pins, hides
        rule = self._synonyms.rule(call.query.text)
        first, out = (dict.fromkeys(e for e in ids if e not in pins | hides) for ids in rule)
        return pins | first, hides | out

    def _rank_others(self, call: Call, ask: Ask) -> Ranking:
        return self._rank_counted(call, ask) if ask.counts else super()._rank(call, ask)

    @steadily
    def context(
        self,
        query: "str | Query",
        pipeline: Pipeline,
        ask: ContextAsk,
        places: "Callable[[str], Places]",
    ) -> "Context":
        """Return parts of the best documents that fit; see `Bundle.context`."""
        from ranklet.runtime.answers.context import Context  # few programs need it
        from ranklet.runtime.search.context import filled

        call = self._call(query, pipeline, ask)
        _, hides = self._named(call, ask)
        call = self._without(call, hides) if hides else call
        run = self._reaching(call, Ask(k=ask.k))
        said, begin = run.ranking(ask.without_hits()), perf_counter()
        with self.files.damage_reported():
            spans, size, why = filled(self, run, ask, self.files.token_count, places)
        timings = (*said.timings, Timing("fill context", (perf_counter() - begin) * 1e3))
        said = self._suggesting(query, call, said)
        return Context(
            said.query, spans, size, ask.tokens, (*said.left_out, *why), said.remarks(), timings,
            said.answerable, said.budget_spent,
        )  # fmt: skip

    def _without(self, call: Call, ids: Iterable[str]) -> Call:
        """Return a call that does not see some documents."""
        hidden = _joined(self._known_parts(ids).values())
        return call._replace(hidden=hidden, pinned=_joined(()))

    def _known_parts(self, ids: Iterable[str]) -> dict[str, NDArray[np.uint32]]:
        """Return the numbers of documents, or of their passages, by those ids that are known."""
        found = {}
        for each in ids:
            with suppress(UnknownDocumentError):
                found[each] = self._parts(each)
        return found

    def _rank_counted(self, call: Call, ask: Ask) -> Ranking:
        """Rank with all documents that match, which are counted and perhaps sorted."""
        from ranklet.runtime.search.matches import by_words  # few calls count

        masks = self._by_words(call)
        ask = ask if ask.k else replace(ask.without_hits(), relevance=False)
        if ask.sort or ask.min_score is not None:
            every, found = self._every_match(call, masks)
            found = found._replace(numbers=every.numbers_above(ask.min_score))
            run = every if ask.sort else self._reaching(call, ask)
        else:
            if ask.k:
                whole = any(each.beginning_of is not None for each in self.vocabularies)
                run = self._reaching(call, ask, short=by_words(masks) and not whole)
            else:
                whole, run = False, self._run(_counting(call, masks))
            found = self._matches(call, masks, run)
            run.matching = found.numbers if whole else None
        ranking, begin = run.ranking(ask), perf_counter()
        with self.files.damage_reported():
            total, facets = self._counts(call, found.numbers, self._facets(ask))
        timing = Timing("count matches", (perf_counter() - begin) * 1e3)
        line = f"read phrases: {found.unread:,} documents that match"
        left_out = (*ranking.left_out, line) if found.unread else ranking.left_out
        return replace(
            ranking, timings=(*ranking.timings, timing), total=total, exact=found.exact,
            facets=facets, left_out=left_out, budget_spent=bool(left_out) or ranking.budget_spent,
        )  # fmt: skip

    def _facets(self, ask: Ask) -> "tuple[Facet, ...]":
        from ranklet.runtime.metadata.facets import read_facets  # few calls count

        return read_facets(ask.facets or (), self.metadata, self.files.manifest.remarks)

    def _by_words(self, call: Call) -> "MatchMasks":
        """Return which documents match by words, by ranker that retrieves; None for vectors."""
        stages = (each for each in call.pipeline.stages if isinstance(each, Retrieve))
        rankers = {each.ranker: self.ranker(each.ranker) for each in stages}
        return {
            name: each.matching(call.query) if isinstance(each, Retriever) else None
            for name, each in rankers.items()
        }

    def _every_match(self, call: Call, masks: "MatchMasks") -> "tuple[_LocalRun, Matches]":
        """Run a pipeline whose candidates become all documents that match.

        If a list by words is only boosted, it is as long as needed, so that all have their scores.
        """
        from ranklet.runtime.search.matches import by_words

        first, *others = call.pipeline.without_cuts().stages
        if by_words(masks) and isinstance(first, Retrieve) and {*map(type, others)} <= {Boost}:
            every = replace(first, k=max(1, len(self.documents)))
            call = call._replace(pipeline=Pipeline((every, *others)))
        run = self._run(call)
        found = self._matches(call, masks, run)
        run.execution.restrict(found.numbers)
        return run, found

    def _matches(self, call: Call, masks: "MatchMasks", run: Run) -> "Matches":
        """Return all documents that match, as far as there is time to read phrases."""
        from ranklet.runtime.search.matches import matches

        allowed = both(self._ranked_ones(call), call.query.allowed)
        lists, phrases = run.execution.lists, call.query.phrases
        return matches(masks, lists, call.pipeline, allowed, phrases, len(self.documents))

    def _counts(
        self, call: Call, numbers: NDArray[np.integer], facets: "Sequence[Facet]"
    ) -> "tuple[int, dict[str, tuple[Count, ...]]]":
        """Return how many documents some and the pinned ones are, and facets; passages count once.

        Args:
            call: the call.
            numbers: the documents that match, (documents,).
            facets: what is counted.
        """
        numbers = numbers if call.pinned is None else np.append(numbers, call.pinned)
        first, found = self.documents.first, np.zeros(len(self.documents), np.bool_)
        found[numbers if first is None else first[numbers]] = True
        numbers = np.flatnonzero(found)
        columns = ((each, self.columns.column(each.field)) for each in facets)
        from ranklet.runtime.metadata.facets import counted  # few calls count

        return len(numbers), {each.field: counted(each, own, numbers) for each, own in columns}

    def _run_on(self, call: Call, parts: Sequence[NDArray[np.uint32]]) -> "_LocalRun":
        query, pipeline, deadline, *_ = call
        given = StoredCandidates(self.documents, np.concatenate(parts))
        execution = Execution(
            pipeline, self.ranker, None, query, given, deadline, amounts=self.amounts
        )
        return _LocalRun(self, query, execution)

    def amounts(self, boost: Boost, numbers: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return what each signal of a boost says of some documents, (signals, documents)."""
        from ranklet.runtime.search.boosting import at_one_time, read_amounts  # few calls boost

        remarks, signals = self.files.manifest.remarks, at_one_time(boost).signals
        return np.stack([read_amounts(each, self.masks, remarks, numbers) for each in signals])

    def words(self, query: QueryContext, numbers: NDArray[np.uint32]) -> Gathered:  # noqa: ARG002
        """Return the words of some documents, those of one class as one, as a query has them."""
        return self.documents.tokens("lemmas", numbers)

    def vectors(self, numbers: NDArray[np.uint32]) -> NDArray[np.float32] | None:
        """Return the vectors of some documents by the first ranker that stores one of each."""
        for name, entry in self.files.manifest.rankers.items():
            if KINDS[entry.kind].index == "vectors":
                ranker = self.ranker(name)
                return ranker.read_vectors(numbers) if isinstance(ranker, Retriever) else None
        return None

    def passages(self, document_id: str) -> "list[Passage]":
        """Return a document's passages in their order; see `Search`."""
        from ranklet.runtime.search.texts import Passage  # few programs need it

        documents, numbers = self.documents, self._parts(document_id)
        return [
            Passage(
                str(number), document_id, place, title, text, self.columns.of(number),
                location=documents.location(number),
            )
            for number, place in [(each, documents.place(each)) for each in numbers.tolist()]
            for _, title, text in [documents.record(number)]
        ]  # fmt: skip

    def _parts(self, document_id: str) -> NDArray[np.uint32]:
        documents, mask = self.documents, self.allowed()
        if mask is None or self.only is None:
            return documents.passages(documents.number(document_id))
        # One message for ids that are nowhere and for those that others may see.
        unknown = UnknownDocumentError(f"unknown document id {str(document_id)[:80]!r}")
        try:
            number = documents.number(document_id)
        except UnknownDocumentError:
            raise unknown from None
        if not mask[number]:
            raise unknown
        return documents.passages(number)

    def groups(self, name: str, numbers: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the number of each document's group, (documents,); see `number_groups`."""
        return number_groups(name, numbers, self.columns)

    def fetch(self, numbers: NDArray[np.uint32], *, tokens: bool) -> None:
        """Fetch at once what hits show, and perhaps their tokens, from object storage."""
        if self.files.is_remote and len(numbers):
            self.columns.fetch(numbers, self.documents.stored(tokens=tokens))

    def shown(self, name: str, number: int) -> Any:
        """Return a document's title, text, passage, metadata or location by that name."""
        if name == "metadata":
            return self.columns.of(number) if self._fields else {}
        documents = self.documents
        if name == "passage":
            return documents.place(number)
        if name == "location":
            return documents.location(number)
        return (documents.titles if name == "title" else documents.texts)[number]

    def all_ids(self) -> list[str]:
        """Return the ids of all documents that may be seen, each once."""
        mask = self.allowed()
        numbers = np.arange(len(self.documents)) if mask is None else np.flatnonzero(mask)
        return list(dict.fromkeys(self.ids(numbers.astype(np.uint32))))

    def ids(self, numbers: NDArray[np.uint32]) -> list[str]:
        """Return the ids of some documents."""
        documents = self.documents
        if self.files.is_remote:
            fetch_rows(numbers, ragged=documents.stored(shown=False))
        return list(map(documents.ids.__getitem__, numbers.tolist()))


def _counting(call: Call, masks: "MatchMasks") -> Call:
    """Return a call that retrieves no more than is needed to count."""
    stages = [each for each in call.pipeline.stages if isinstance(each, Retrieve)]
    lists = [each for each in stages if masks[each.ranker] is None]
    return call._replace(pipeline=Pipeline((*lists,) or (replace(stages[0], k=1),)))


def _joined(parts: Iterable[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    return np.concatenate([np.empty(0, np.uint32), *parts])


class _LocalRun(Run):
    """A pipeline that has run on the documents of a search; see `Run`."""

    def __init__(
        self,
        search: LocalSearch,
        query: QueryContext,
        execution: Execution,
        pinned: NDArray[np.uint32] | None = None,
    ) -> None:
        super().__init__(search.files, query, execution)
        self._search = search
        if pinned is not None:
            self._before = lambda: search.words(query, pinned)

    def widen(self, hits: Sequence[Hit], positions: NDArray[np.intp], ask: Ask) -> None:
        """Let hits have more passages of their documents."""
        from ranklet.runtime.search.context import gather_spans  # few calls ask for them

        found = gather_spans(self._search, self, positions, ask)
        for hit, spans in zip(hits, found, strict=True):
            hit.widened(spans)

    @property
    def _numbers(self) -> NDArray[np.uint32]:
        return list_numbers(self.execution.candidates)

    def place_pinned(
        self, ranking: Ranking, parts: Sequence[NDArray[np.uint32]], ask: Ask
    ) -> Ranking:
        """Return a ranking after documents that are pinned, each shown by its best passage."""
        explain, final, best = ask.explain, self.execution.final(), list[int]()
        for part in parts:
            positions = self.positions(part)
            best.append(int(positions[np.argmax(final[positions])]))
        places = np.array(best, np.intp)
        self.fetch(places, tokens=explain)
        why = [self.explain(at) if explain else None for at in best]
        why = [each and replace(each, label=f"pinned, otherwise {each.label}") for each in why]
        hits = self.hits(places, final[places].tolist(), why, pinned=True)
        if ask.widened:
            self.widen(hits, places, ask)
        timing = Timing("score pinned documents", sum(ms for _, ms in self.execution.timings))
        left_out = (*ranking.left_out, *self.execution.left_out)
        return replace(
            ranking, hits=(*hits, *ranking.hits), timings=(*ranking.timings, timing),
            left_out=left_out, budget_spent=bool(left_out) or ranking.budget_spent,
        )  # fmt: skip

    def numbers_above(self, least: float | None) -> NDArray[np.uint32]:
        """Return the documents that reach a score, of a split one perhaps only its best passage."""
        return self._numbers if least is None else self._numbers[self._best_above(least)]

    def ordered(self, ask: Ask, reach: int | None) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the positions of the first documents, and their scores, in order; see `Run`."""
        wanted = self.matching
        if not ask.sort and wanted is None:
            return super().ordered(ask, reach)
        if not ask.sort and wanted is not None:
            positions, scores = super().ordered(ask, None)
            numbers = self._numbers[positions]
            if (first := self._search.documents.first) is not None:
                numbers, wanted = first[numbers], distinct(first[wanted])
            kept = among(numbers, wanted)
            return positions[kept][:reach], scores[kept][:reach]
        positions = self._best_above(ask.min_score)
        scores, columns = self.execution.final()[positions], self._search.columns
        from ranklet.runtime.metadata.sorting import order, read_sort  # few calls sort

        keys = read_sort(ask.sort, columns.types)
        places = order(keys, columns, self._numbers[positions], scores, reach)
        return positions[places], scores[places]

    def _best_above(self, least: float | None) -> NDArray[np.intp]:
        """Return the positions of the best passages that reach a score, in any order."""
        positions = self.execution.best_passage_positions()
        if least is None:
            return positions
        return positions[self.execution.final()[positions].astype(np.float64) >= least]

    def positions(self, parts: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the positions of some documents."""
        return np.flatnonzero(np.isin(self._numbers, parts))

    def others(self, parts: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return all candidates except some documents."""
        return self._numbers[~np.isin(self._numbers, parts)]

    def words(self, positions: NDArray[np.intp]) -> Gathered:
        """Return the words of the documents at some positions, those of one class as one."""
        return self._search.words(self._query, self._numbers[positions])

    def vectors(self, positions: NDArray[np.intp]) -> NDArray[np.float32] | None:
        """Return the vectors of some documents, (positions, dimension), where they are stored."""
        return self._search.vectors(self._numbers[positions])

    def ids(self, positions: NDArray[np.intp]) -> list[str]:
        """Return the ids of the documents at some positions."""
        return self._search.ids(self._numbers[positions])

    def groups(self, name: str, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the number of each document's group, (positions,); see `Ask`."""
        return self._search.groups(name, self._numbers[positions])

    def fetch(self, positions: NDArray[np.intp], *, tokens: bool) -> None:
        """Fetch at once what hits show, and perhaps their tokens, from object storage."""
        self._search.fetch(self._numbers[positions], tokens=tokens)

    def hits(
        self,
        positions: NDArray[np.intp],
        scores: Sequence[float],
        explanations: "Sequence[Explanation | None]",
        *,
        pinned: bool = False,
    ) -> list[Hit]:
        """Return hits, whose index is the document's number among those that `only` allows."""
        numbers, documents = self._numbers[positions], self._search.documents
        begins = numbers if documents.first is None else documents.first[numbers]
        indices = begins if self._begins is None else np.searchsorted(self._begins, begins)
        columns = (
            numbers.tolist(), repeat(self._search.shown), self._search.ids(numbers), scores,
            indices.tolist(), explanations,
        )  # fmt: skip
        return list(map(partial(Hit.stored, pinned=pinned), *columns))

    @cached_property
    def _begins(self) -> NDArray[np.intp] | None:
        """The first passage of each document that `only` allows; None for all, if all are whole."""
        mask, begins = self._search.allowed(), self._search.documents.begins
        if mask is None:
            return begins
        return np.flatnonzero(mask) if begins is None else begins[mask[begins]]
