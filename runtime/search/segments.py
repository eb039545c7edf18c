"""Search a base and its additions as one collection."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.additions import Additions, open_addition
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Value
from ranklet.runtime.bundles.segments import SegmentedDocuments, Shifts
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask, both
from ranklet.runtime.call.protocol import Ranker, Retriever
from ranklet.runtime.call.query import Phrases, QueryContext, SegmentQuery
from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.metadata.columns import Column, Metadata
from ranklet.runtime.metadata.segments import joined
from ranklet.runtime.metadata.where import Condition
from ranklet.runtime.pipelines.pipeline import Boost
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.segments import SegmentedRanker, SegmentedRetriever
from ranklet.runtime.search.boosting import at_one_time
from ranklet.runtime.search.browsing import EVERYTHING
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.search.reading import read_query
from ranklet.runtime.storage.forward import Gathered
from ranklet.runtime.syntax.meaning import with_corrections
from ranklet.runtime.syntax.query_syntax import Query
from ranklet.runtime.text.analysis import Vocabulary

if TYPE_CHECKING:
    from ranklet.runtime.completion.completion import Part
    from ranklet.runtime.completion.words import PartWords


class SegmentedSearch(LocalSearch):
    """The documents of a base and its additions; immutable and shared by all threads.

    Args:
        files: the base.
        additions: the list of additions.
        before: an earlier search, whose parts are used again.

    Attributes:
        parts: the search in each part, the base's first.
    """

    def __init__(
        self, files: BundleFiles, additions: Additions, before: LocalSearch | None = None
    ) -> None:
        known = {each.files.path.name: each for each in list_segments(before)}
        opened = [files]
        for each in additions.parts:
            same = known.get(each.file)
            opened.append(same.files if same else open_addition(files, each))
        types = dict(sorted(_types(opened).items()))
        super().__init__(files, types)
        self.additions: Additions = additions
        self._rankers: dict[str, Ranker] = {}
        self.parts: list[LocalSearch] = []
        for own in opened:
            same = known.get(own.path.name)
            fits = same is not None and same.files is own and same.metadata == types
            self.parts.append(same if same and fits else LocalSearch(own, types))

    @cached_property
    def columns(self) -> "SegmentedMetadata":
        """The metadata of the documents of all parts."""
        return SegmentedMetadata([each.columns for each in self.parts], self.metadata)

    @cached_property
    def deleted(self) -> Mask:
        """Which documents are gone, (documents,) bool."""
        flags = []
        for part, numbers in zip(self.parts, self.additions.deleted, strict=True):
            count = part.files.manifest.documents
            if numbers and max(numbers) >= count:
                raise damaged(f"a deleted document of {part.files.path.name!r} is past the last")
            flags.append(np.zeros(count, np.bool_))
            flags[-1][list(numbers)] = True
        return np.concatenate(flags)

    @cached_property
    def documents(self) -> SegmentedDocuments:
        """The documents of all parts."""
        return SegmentedDocuments([each.documents for each in self.parts], self.deleted)

    @property
    def vocabularies(self) -> Sequence[Vocabulary]:
        """What together has every word of the documents."""
        return [each.files.analyzer.vocabulary for each in self.parts]

    def allowed(self, where: object = None, deadline: Deadline | None = None) -> Mask | None:
        """Return which documents a call may return, (documents,) bool; None allows all."""
        there = ~self.deleted if any(self.additions.deleted) else None
        return both(super().allowed(where, deadline), there)  # type: ignore[arg-type]

    def part_completions(self, mask: Mask | None) -> "list[Part]":
        """Return what each part completes by, for whom a mask shows its documents."""
        shares = zip(self.parts, self._cut(mask), strict=True)
        return [each for part, own in shares for each in part.part_completions(own)]

    def part_words(self, mask: Mask | None) -> "list[PartWords]":
        """Return the words of each part, [] if no index has all of them."""
        shares = zip(self.parts, self._cut(mask), strict=True)
        return [each for part, own in shares for each in part.part_words(own)]

    def _cut(self, mask: Mask | None) -> list[Mask | None]:
        """Return the part of a mask that is about each part of the collection."""
        if mask is None:
            return [None] * len(self.parts)
        return list(np.split(mask, self.documents.shifts.begins[1:-1]))

    def read(self, query: str | Query, deadline: Deadline | None = None) -> QueryContext:
        """Return a query that is ready to rank by in every part."""
        if isinstance(query, Query):
            read = self._read_syntax(query, deadline)
        else:
            read = read_query(query, self.files, deadline=deadline)
        read.spread([each.files.analyzer for each in self.parts[1:]])
        read.synonyms = self.synonyms(read.text)
        read.find_ends = partial(self.ends, read.text, read.analysis)
        return read

    def forget(self) -> None:
        """Close what was opened on demand; what is needed again is opened again."""
        self._rankers.clear()
        for part in self.parts:
            part.files.forget()

    def amounts(self, boost: Boost, numbers: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return what each signal of a boost says of some documents, (signals, documents)."""
        boost = at_one_time(boost)
        found = np.empty((len(boost.signals), len(numbers)))
        for part, places, own in self.documents.shifts.shares(numbers):
            found[:, places] = self.parts[part].amounts(boost, own)
        return found

    def words(self, query: QueryContext, numbers: NDArray[np.uint32]) -> Gathered:
        """Return the words of some documents, those of one class as one, as a query has them."""
        lengths, parts = np.zeros(len(numbers), np.int64), list[tuple[NDArray[np.intp], Gathered]]()
        for part, places, own in self.documents.shifts.shares(numbers):
            asked = query.everywhere[part]
            found = self.parts[part].words(asked, own)
            if isinstance(asked, SegmentQuery):
                found = found._replace(tokens=asked.own.in_whole(found.tokens))
            lengths[places] = found.lengths
            parts.append((places[found.owner], found))
        owner = np.concatenate([np.empty(0, np.intp), *(places for places, _ in parts)])
        tokens = np.concatenate([np.empty(0, np.int32), *(found.tokens for _, found in parts)])
        return Gathered(tokens[np.argsort(owner, kind="stable")], lengths)

    def fetch(self, numbers: NDArray[np.uint32], *, tokens: bool) -> None:
        """Fetch at once what hits show, and perhaps their tokens, from object storage."""
        if self.files.is_remote:
            for part, _, own in self.documents.shifts.shares(numbers):
                self.parts[part].fetch(own, tokens=tokens)

    def visible(
        self, condition: Condition | None, deadline: Deadline | None, _: None = None
    ) -> Mask | None:
        """Return which documents a condition allows, (documents,) bool; None allows all."""
        if condition is None:
            return None
        return np.concatenate([each.masks.mask(condition, deadline) for each in self.parts])

    def ranker(self, name: str) -> Ranker:
        """Return a ranker over all parts, opened on first use."""
        if name == EVERYTHING:
            return super().ranker(name)
        if name not in self._rankers:
            base = open_ranker(self.files, name)
            kind = SegmentedRetriever if isinstance(base, Retriever) else SegmentedRanker
            files, field = [each.files for each in self.parts], self.files.settings(name).field
            self._rankers[name] = kind(base, files, self.documents, field)
        return self._rankers[name]

    def _read_syntax(self, query: Query, deadline: Deadline | None) -> QueryContext:
        """Return what a query with syntax means in all parts together."""
        condition, found = self.condition(), list[QueryContext]()
        others = [each.documents.vocabulary for each in self.parts[1:]]

        def known(word: str) -> bool:
            return any(each.knows(word) or each.ending_with(word) for each in others)

        for part in self.parts:
            own = read_query(
                query, part.files, visible=partial(part.visible, condition, deadline),
                deadline=deadline, known=known, columns=part.columns,
            )  # fmt: skip
            if query.typos:  # the base corrects them
                split = self.files.analyzer.vocabulary.splitter
                query = with_corrections(query, own.corrections, split)
            found.append(own)
        return _joined(found, self.documents.shifts)


def list_segments(search: LocalSearch | None) -> list[LocalSearch]:
    """Return the search in the base and in each addition."""
    if isinstance(search, SegmentedSearch):
        return search.parts
    return [] if search is None else [search]


class SegmentedMetadata(Metadata):
    """The metadata of the documents of several parts.

    Args:
        parts: the columns of each part.
        types: the type of each field that any part has.
    """

    def __init__(self, parts: Sequence[Metadata], types: Mapping[str, str]) -> None:
        self._parts, self.types = parts, types
        self._shifts = Shifts([len(each) for each in parts])
        self._columns: dict[str, Column] = {}
        self._lock = Lock()

    def _open(self, name: str) -> Column:
        return joined([each.column(name) for each in self._parts])

    def __len__(self) -> int:
        """Return the number of documents, where each passage counts as one."""
        return int(self._shifts.begins[-1])

    def of(self, number: int) -> dict[str, Value]:
        """Return a document's values by field, without those that are missing."""
        part, own = self._shifts.place(number)
        return self._parts[part].of(own)

    def compare(self, names: Sequence[str]) -> None:  # type: ignore[override]
        """Compare the files of some fields with their sha256, each once."""
        for each in self._parts:
            each.compare(list(names))


class _SegmentedPhrases:
    """The phrases of a query in each part."""

    def __init__(self, parts: Sequence[Phrases | None], shifts: Shifts) -> None:
        self._parts, self._shifts = parts, shifts

    def fitting(self, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of some documents have the phrases; fewer values if time runs out."""
        found = list[bool]()
        for part, own in map(self._shifts.place, numbers.tolist()):
            phrases = self._parts[part]
            fits = [True] if phrases is None else phrases.fitting(np.array([own])).tolist()
            if not fits:
                break
            found += fits
        return np.array(found, np.bool_)


def _types(files: Sequence[BundleFiles]) -> dict[str, str]:
    """Return the types of the fields of all parts, which agree.

    Raises:
        BundleError: two parts have a field of one name and of different types.
    """
    types: dict[str, str] = {}
    for each in files:
        for name, type_ in each.manifest.metadata.items():
            if types.setdefault(name, type_) != type_:
                raise BundleError(f"{each.path}: {name!r:.80} is {type_}, elsewhere {types[name]}")
    return types


def _joined(parts: Sequence[QueryContext], shifts: Shifts) -> QueryContext:
    """Return one query of those that were read in each part."""
    base, begins = parts[0], shifts.begins.tolist()
    analysis, added, allowed, phrases = base.analysis, base.added, None, None
    for part in parts[1:]:
        if part.added is not None and len(part.added):
            others = analysis.list_numbers(part.analysis.spelled(part.added))
            added = others if added is None else distinct(np.append(added, others))
    if any(each.allowed is not None for each in parts):
        allowed = np.concatenate(
            [
                np.ones(end - begin, np.bool_) if each.allowed is None else each.allowed
                for each, begin, end in zip(parts, begins[:-1], begins[1:], strict=True)
            ]
        )
    if any(each.phrases is not None for each in parts):
        phrases = _SegmentedPhrases([each.phrases for each in parts], shifts)
    left_out = dict.fromkeys(line for each in parts for line in each.left_out)
    return QueryContext(
        base.text, analysis, added, allowed, base.corrections, phrases, tuple(left_out),
        base.weights, base.signs,
    )  # fmt: skip
