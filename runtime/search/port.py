"""The port by which a bundle reaches the collection that it ranks, wherever that is stored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import Ask, ContextAsk, Where, is_blank
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import (
    BundleError,
    InputError,
    NoVectorError,
    OutOfTimeError,
    RemoteError,
)
from ranklet.runtime.hits import Hit, Ranking
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve
from ranklet.runtime.search.browsing import browse
from ranklet.runtime.search.run import Run
from ranklet.runtime.storage.address import Address
from ranklet.runtime.text.analysis import Vocabulary

if TYPE_CHECKING:
    from ranklet.runtime.answers.context import Context
    from ranklet.runtime.bundles.additions import Additions
    from ranklet.runtime.hits import Completion
    from ranklet.runtime.metadata.where import Condition
    from ranklet.runtime.search.texts import Passage
    from ranklet.runtime.syntax.query_syntax import Query
    from ranklet.runtime.text.common_words import Places
    from ranklet.runtime.text.synonyms import Match

_PASSAGES = 4  # of one document that are expected among those that were asked for, at most

S = TypeVar("S", bound="Search")
P = ParamSpec("P")
T = TypeVar("T")


def steadily(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method of a search see one state of the collection from its beginning to its end."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return self.steady(lambda search: method(search, *args, **options))

    return call


class Earlier(NamedTuple):
    """An earlier version of a bundle."""

    path: Path | Address  # of the bundle
    version: int


class Call(NamedTuple):
    """A query that is ready to rank by, and how it is ranked."""

    query: QueryContext
    pipeline: Pipeline
    deadline: Deadline | None = None
    where: Where | None = None
    hidden: NDArray[np.uint32] | None = None  # documents that do not come back at all
    pinned: NDArray[np.uint32] | None = None  # documents that come back without being ranked


def check_whole(query: QueryContext) -> None:
    """Raise NoVectorError if a ranker took no part, where an answer cannot say so."""
    if query.without:
        raise NoVectorError("; ".join(query.without))


class Search(ABC):
    """A collection, or the documents of it that a filter allows, ranked by a bundle's pipelines.

    All that depends on where documents are stored is here, and nothing else; `Bundle` has the rest.
    Nothing here reveals a document that `only` does not allow: neither its id, nor its text, nor
    that it is there. Documents or passages are named as each kind of search reads them, so that a
    method may take what another has returned.

    Attributes:
        only: the filter that every call is restricted by; None allows all documents.
        address: the collection's address, if another system stores it; None for the bundle's own.
        longest: how many documents or passages one list can have; None for any number.
        closed: whether a connection that it needs was ended.
        additions: what was added and deleted since the bundle was built; None if nothing was.
        at: the version of the bundle that was asked for; None for the newest.

    Args:
        files: the bundle.
    """

    only: "Condition | None" = None
    address: str | None = None
    longest: int | None = None
    closed = False
    additions: "Additions | None" = None
    at: Earlier | None = None

    def __init__(self, files: BundleFiles) -> None:
        self.files = files
        self._types: Mapping[str, str] | None = None  # of the fields when `only` was made

    @property
    def documents(self) -> Documents:
        """The documents that lie beside the rankers."""
        return self.files.need_documents()

    @property
    def vocabularies(self) -> Sequence[Vocabulary]:
        """What together has every word of the documents; nothing if that is not sure."""
        return ()

    # ------------------------------------------------------------- what each kind of search has

    countable: ClassVar[bool] = False  # whether documents that match can be counted and sorted

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether there are documents to rank."""

    @property
    @abstractmethod
    def titles(self) -> bool:
        """Whether a document's title is part of its ranked text."""

    @property
    @abstractmethod
    def metadata(self) -> Mapping[str, str]:
        """The type of each field of the documents besides id, title and text."""

    @abstractmethod
    def count(self, *, passages: bool = False) -> int:
        """Return the number of documents, or of passages, which is 0 if documents are whole."""

    @abstractmethod
    def samples(self, count: int) -> list[str]:
        """Return titles of some documents, or beginnings of texts."""

    def synonyms(self, query: str) -> "list[Match]":  # noqa: ARG002
        """Return the words of a query that have synonyms, with these."""
        return []

    def ends(self, query: str) -> "list[Match]":  # noqa: ARG002
        """Return the words of a query that no document has, with those that end with them."""
        return []

    def check_synonyms(self, ask: Ask) -> None:  # noqa: B027  # most look them up
        """Raise InputError if there are synonyms or rules that cannot be looked up."""

    @abstractmethod
    def complete(self, typed: str, k: int, where: Where | None) -> "list[Completion]":
        """Return what a person may go on to type; see `Bundle.complete`."""

    def suggestion(self, query: "str | Query", call: Call) -> str | None:  # noqa: ARG002
        """Return what may have been meant by a query whose words were looked up; see `Ranking`.

        Args:
            query: the query.
            call: the call, which has run.
        """
        return None

    def frequency(self, word: str) -> int | None:  # noqa: ARG002
        """Return how many documents that may be seen have a word; None if that is not known."""
        return None

    @abstractmethod
    def passages(self, document_id: str) -> "list[Passage]":
        """Return a document's passages in their order, or the whole document as a single one.

        Raises:
            InputError: the id is not a string.
            UnknownDocumentError: there is no such document, or the filter does not allow it.
        """

    @abstractmethod
    def read(self, query: "str | Query", deadline: Deadline | None = None) -> QueryContext:
        """Return a query that is ready to rank by.

        Args:
            query: a text, or a query with syntax.
            deadline: the call's deadline; None for none.

        Raises:
            InputError: it is empty, no string, or has what this collection cannot look up.
        """

    @abstractmethod
    def features(
        self, query: str, pipeline: Pipeline, ask: Ask
    ) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
        """Return the candidates' ids and their scaled scores by ranker; see `Bundle.features`."""

    @abstractmethod
    def _run(self, call: Call, reach: int | None = None) -> Run:
        """Run a pipeline on the documents that the filters allow.

        A list need not have more than `reach` documents if its first ones do not depend on others.
        """

    def _without(self, call: Call, ids: Iterable[str]) -> Call:  # noqa: ARG002
        """Return a call that does not see some documents.

        Raises:
            InputError: another system stores the documents.
        """
        raise InputError("documents are hidden where a bundle has them, and not in Milvus")

    @abstractmethod
    def _run_on(self, call: Call, parts: Sequence[Any]) -> Run:
        """Run a pipeline on given documents, part by part in their order."""

    @abstractmethod
    def _parts(self, document_id: str) -> Any:
        """Return a document's passages, or the whole one.

        Raises:
            InputError: the id is not a string.
            UnknownDocumentError: there is no such document, or the filter does not allow it.
        """

    def steady(self, call: Callable[[Self], T]) -> T:
        """Return the result of a call that sees only one state of the collection."""
        return call(self)

    def forget(self) -> None:
        """Close what was opened on demand; what is needed again is opened again."""
        self.files.forget()

    def close(self) -> None:  # noqa: B027  # most have none
        """End the connection, if there is one."""

    # ---------------------------------------------------------------------- what they all share

    def restricted(self, condition: "Condition", types: Mapping[str, str]) -> Self:
        """Return the search as if there were only the documents that a condition allows.

        Args:
            condition: it replaces `only`.
            types: the types of the fields that the condition was read for.

        Raises:
            RemoteError, BundleError: the fields are others by now.
        """
        part = copy(self)
        part.only, part._types = condition, dict(types)
        part.condition()
        return part

    def narrowed(self, where: Where) -> Self:
        """Return the search as if there were only the documents that a filter allows, too."""
        types = self.metadata
        return self.restricted(self._joined(where, types), types)

    def condition(self, where: Where | None = None) -> "Condition | None":
        """Return the condition of a filter and of `only` together; None allows all documents.

        Raises:
            InputError: the filter cannot be used.
            RemoteError, BundleError: `only` may mean something else by now.
        """
        types = self.metadata
        if self._types is not None and types != self._types:
            # A filter that was made for other fields could allow what it should hide.
            raise (BundleError if self.address is None else RemoteError)(
                "the collection was replaced by one with other fields of the metadata, so a filter "
                "may mean something else; open the bundle and restrict it again"
            )
        return self.only if where is None else self._joined(where, types)

    def _joined(self, where: Where, types: Mapping[str, str]) -> "Condition":
        from ranklet.runtime.metadata.where import Both, read_where

        condition = read_where(where, types, self.files.manifest.remarks)
        return condition if self.only is None else Both((self.only, condition))

    @steadily
    def rank(self, query: "str | Query", pipeline: Pipeline, ask: Ask) -> Ranking:
        """Rank for a query; see `Bundle.rank`."""
        call = self._call(query, pipeline, ask)
        return self._suggesting(query, call, self._rank(call, ask))

    def context(
        self,
        query: "str | Query",  # noqa: ARG002
        pipeline: Pipeline,  # noqa: ARG002
        ask: ContextAsk,  # noqa: ARG002
        places: "Callable[[str], Places]",  # noqa: ARG002
    ) -> "Context":
        """Return parts of the best documents that fit; see `Bundle.context`.

        Raises:
            InputError: another system stores the documents.
        """
        raise InputError(
            "a context joins passages that a bundle has beside each other, and Milvus has them "
            "here; use the bundle without the address of Milvus"
        )

    def _call(self, query: "str | Query", pipeline: Pipeline, ask: Ask) -> Call:
        deadline = Deadline(ask.budget_ms)
        read = self.read(query, deadline)
        if ask.vector is None and is_blank(read.text):
            pipeline = browse(pipeline, ask, len(self.documents))
        call = Call(read, pipeline, deadline, ask.where)
        if ask.vector is not None:
            from ranklet.runtime.search.reading import give_vector  # few calls have one

            give_vector(call.query, self.files, pipeline, ask)
        self.check_synonyms(ask)
        if not ask.synonyms:
            call.query.synonyms = ()
        return call

    def _suggesting(self, query: "str | Query", call: Call, ranking: Ranking) -> Ranking:
        """Return a ranking with what may have been meant by its query."""
        if not isinstance(query, str) and query.typos:
            return ranking
        meant = self.suggestion(query, call)
        return ranking if meant is None else replace(ranking, suggestion=meant)

    def _rank(self, call: Call, ask: Ask) -> Ranking:
        return self._reaching(call, ask).ranking(ask)

    @steadily
    def rank_ids(
        self, query: "str | Query", pipeline: Pipeline, ask: Ask
    ) -> list[tuple[str, float]]:
        """Return the ids and scores of the documents that come back, best first."""
        call = self._call(query, pipeline, ask)
        run = self._reaching(call, ask)
        check_whole(call.query)
        positions, scores = run.chosen(ask)
        return list(zip(run.ids(positions), scores.tolist(), strict=True))

    @steadily
    def evidence(
        self, query: str, k: int, pipeline: Pipeline, hide: Sequence[str] = ()
    ) -> tuple[list[str], NDArray[np.float32], NDArray[np.float64]]:
        """Return ids, scores and evidence of the k best documents; see `Run.evidence`.

        Documents to `hide` count as absent.
        """
        ask, call = Ask(k=k, relevance=True), Call(self.read(query), pipeline)
        run = self._reaching(self._without(call, hide) if hide else call, ask)
        positions, scores = run.chosen(ask)
        return run.ids(positions), scores, run.evidence(positions)

    @steadily
    def score(self, query: str, ids: Sequence[str], pipeline: Pipeline) -> NDArray[np.float32]:
        """Return the score of each document, (ids,) float32; of a split one the best passage's."""
        parts = [self._parts(each) for each in ids]
        if not parts:
            return np.empty(0, np.float32)
        call = Call(self.read(query), pipeline.without_cuts())
        run = self._run_on(call, parts)
        check_whole(call.query)
        begins = np.cumsum([0, *map(len, parts[:-1])])
        return np.maximum.reduceat(run.execution.final(), begins)

    @steadily
    def explained(
        self, query: str, document_id: str, pipeline: Pipeline, deadline: Deadline | None = None
    ) -> Hit:
        """Return a document, or its best passage, as an explained hit.

        A document that the pipeline does not return joins its candidates.

        Raises:
            OutOfTimeError: there is no time for all stages, so its score would be another.
        """
        parts = self._parts(document_id)
        call = Call(self.read(query, deadline), pipeline, deadline)
        run, whole = self._run(call), call._replace(pipeline=pipeline.without_cuts())
        if not len(run.positions(parts)):
            run = run if whole.pipeline == pipeline else self._run(whole)
            if not run.execution.left_out:
                run = self._run_on(whole, [run.others(parts), parts])
        if run.execution.left_out:
            raise OutOfTimeError(
                f"the time was up before the document was explained (no time for: "
                f"{'; '.join(run.execution.left_out)}); name a faster pipeline, or allow more time"
            )
        positions = run.positions(parts)
        best = positions[[np.argmax(run.execution.final()[positions])]]
        explanation = run.explain(int(best[0]))
        return run.hits(best, [explanation.value], [explanation])[0]

    def _reaching(self, call: Call, ask: Ask, *, short: bool = True) -> Run:
        """Run a pipeline; retry with longer lists while too few documents or groups come back.

        A run for which there is not enough time is dropped.

        Args:
            call: the call.
            ask: what comes back.
            short: whether a list may end when enough documents are known.
        """
        depth, reach, single = call.pipeline.depth, None, len(call.pipeline.stages) == 1
        if short and single and call.query.phrases is None and not ask.reorders:
            reach = max(1, ask.reach)
            if ask.rated:
                from ranklet.runtime.pipelines.relevance import DEPTH

                reach = max(reach, DEPTH)
            reach *= _PASSAGES
        run = self._run(call, reach)
        if reach is not None and reach < depth:
            if not run.execution.cut or run.execution.documents >= min(ask.reach, depth):
                return run
            again = self._run(call)  # one document has many passages
            again.execution.timings[:0] = run.execution.timings
            run = again
        run.confirm(ask)
        while run.too_few(ask, depth):
            call = call._replace(pipeline=call.pipeline.deeper(4))
            retrieved = max(each.k for each in call.pipeline.stages if isinstance(each, Retrieve))
            if self.longest is not None and retrieved > self.longest:
                break
            longer = self._run(call)
            longer.confirm(ask)
            if longer.execution.budget_spent:
                run.execution.left_out += longer.unread
                break
            longer.execution.timings[:0] = run.execution.timings
            run = longer
        return run
