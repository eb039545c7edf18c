"""Search a collection in Milvus: it retrieves, and everything else is done here."""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import chain
from time import perf_counter
from typing import NoReturn, Self, TypeVar

import numpy as np

from ranklet.runtime.asks import Ask, Where, check_query
from ranklet.runtime.bundles.files import BundleFiles, has_synonyms, locate_synonyms
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import InputError, UnknownDocumentError
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.hits import Timing
from ranklet.runtime.lexical.field_index import TITLE
from ranklet.runtime.milvus.collection import (
    MOST,
    SECONDS,
    MilvusCollection,
    Published,
    ReplacedError,
    located,
)
from ranklet.runtime.milvus.expressions import expression
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.search.boosting import IN_MILVUS
from ranklet.runtime.search.port import Call, Search, steadily
from ranklet.runtime.search.texts import Passage, TextRun
from ranklet.runtime.syntax.query_syntax import Query
from ranklet.runtime.syntax.signs import unread_signs

TRIES = 3  # of a call during which the collection is replaced

T = TypeVar("T")


class MilvusSearch(Search):
    """A collection in Milvus, whose passages are named by what was read of them.

    The retrieving stages of a pipeline are searches in Milvus. All other stages run here, on the
    texts that Milvus returns, and so do explanations, as far as the bundle can score a text. The
    bundle may be one without documents. BM25 and Conformer-Kernels number the words of a
    collection, so only the bundle that was published, or one with the same vocabulary, has vectors
    of queries for them. A search that takes longer than the budget is an error, because nothing
    could be returned.

    Args:
        files: the bundle.
        address: the collection's address; see `MilvusCollection`.
        seconds: the time limit for a call of Milvus without a budget.

    Raises:
        InputError: the address is invalid, or the collection does not belong to the bundle.
        RemoteError: Milvus does not answer, or has no such collection.
        MissingPackageError: the extra [milvus] is not installed.
    """

    longest = MOST
    exists = True  # `ranklet publish` writes no empty collection

    def __init__(self, files: BundleFiles, address: str, *, seconds: float = SECONDS) -> None:
        super().__init__(files)
        self.address, token = located(address), os.environ.get(Variable.MILVUS_TOKEN, "")
        self._collection = MilvusCollection(files, self.address, token=token, seconds=seconds)
        self._state: Published | None = None  # the one that a call sees

    def close(self) -> None:
        """End the connection."""
        self._collection.close()

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether the connection was ended."""
        return self._collection.closed

    def steady(self, call: Callable[[Self], T]) -> T:
        """Return the result of a call; call again if the collection is replaced meanwhile."""
        if self._state is not None:
            return call(self)
        for _ in range(TRIES - 1):
            try:
                return call(self._at_present())
            except ReplacedError:
                continue
        return call(self._at_present())

    def _at_present(self) -> Self:
        fixed = copy(self)
        fixed._state = self._collection.published
        return fixed

    @property
    def _now(self) -> Published:
        return self._collection.published if self._state is None else self._state

    @property
    def titles(self) -> bool:
        """Whether a document's title is part of its ranked text."""
        return self._now.titles

    @property
    def metadata(self) -> Mapping[str, str]:
        """The type of each field of the documents besides id, title and text."""
        return self._now.metadata

    @steadily
    def count(self, *, passages: bool = False) -> int:
        """Return the number of documents, or of passages, which is 0 if documents are whole."""
        return self._collection.count(self._filter_expression(), self._now, passages=passages)

    @steadily
    def samples(self, count: int) -> list[str]:
        """Return titles of some documents, or beginnings of texts."""
        return self._collection.samples(count, self._filter_expression(), self._now)

    def check_synonyms(self, ask: Ask) -> None:
        """Raise InputError if the bundle has synonyms or rules, by which Milvus does not search."""
        asked = ask.synonyms or ask.rules
        if asked and has_synonyms(self.files.path) and not self.files.is_remote:
            raise InputError(
                f"{str(locate_synonyms(self.files.path))!r} has synonyms or rules, which are of "
                "the collection of a bundle, and not in Milvus; pass synonyms=False, rules=False"
            )

    def complete(self, typed: str, k: int, where: Where | None) -> NoReturn:  # noqa: ARG002
        """Raise InputError, because titles and words are read from a bundle's own collection.

        Raises:
            InputError: always.
        """
        raise InputError(
            "completions are read from the collection that a bundle has, and not from Milvus; use "
            "the bundle without the address of Milvus"
        )

    def read(self, query: str | Query, deadline: Deadline | None = None) -> QueryContext:
        """Return a query that is ready to rank by.

        Raises:
            InputError: it is empty, or has more than words.
        """
        if isinstance(query, Query):
            if query != Query(query.text):
                raise InputError(
                    "phrases, required and excluded words, prefixes, fields and typos are looked "
                    "up in the collection of a bundle, and not in Milvus; leave them out"
                )
            query = query.text
        check_query(query)
        analysis = self.files.analyzer.begin((deadline or Deadline()).look)
        return QueryContext(query, analysis, signs=unread_signs(query, {TITLE: ""}))

    def features(self, query: str, pipeline: Pipeline, ask: Ask) -> NoReturn:  # noqa: ARG002
        """Raise InputError, because fusions are learned on a bundle's own collection.

        Raises:
            InputError: always.
        """
        raise InputError(
            "fusions are learned on the collection that a bundle has; use the bundle that was "
            "published, without the address of Milvus"
        )

    def _filter_expression(self, where: Where | None = None) -> str:
        """Return the expression of a filter and of the restriction, "" for neither."""
        condition = self.condition(where)
        return "" if condition is None else expression(condition, self.metadata)

    def _run(
        self,
        call: Call,
        reach: int | None = None,  # noqa: ARG002  # the network takes longer than a longer list
    ) -> TextRun:
        query, pipeline, begin = call.query, call.pipeline, perf_counter()
        if pipeline.boost is not None:
            raise InputError(IN_MILVUS)
        deadline, allowed = call.deadline or Deadline(), self._filter_expression(call.where)
        stages = [each for each in pipeline.stages if isinstance(each, Retrieve)]
        lists = {each.ranker: self._list(query, each, allowed, deadline) for each in stages}
        timing = Timing("search Milvus", (perf_counter() - begin) * 1e3)
        passages = {each.key: each for found in lists.values() for each, _ in found}
        place = {key: at for at, key in enumerate(passages)}
        known = {name: np.full(len(place), np.nan, np.float32) for name in lists}
        for name, found in lists.items():
            for each, score in found:
                known[name][place[each.key]] = score
        run = TextRun(
            self.files, query, pipeline, list(passages.values()), deadline, titles=self.titles,
            known=known,
        )  # fmt: skip
        run.execution.timings.insert(0, timing)
        run.execution.cut |= any(len(lists[each.ranker]) >= each.k for each in stages)
        return run

    def _run_on(self, call: Call, parts: Sequence[Sequence[Passage]]) -> TextRun:
        query, pipeline, deadline, *_ = call
        if pipeline.boost is not None:
            raise InputError(IN_MILVUS)
        passages = list(chain.from_iterable(parts))
        return TextRun(self.files, query, pipeline, passages, deadline, titles=self.titles)

    @steadily
    def passages(self, document_id: str) -> list[Passage]:
        """Return a document's passages in their order; see `Search`."""
        return self._parts(document_id)

    def _parts(self, document_id: str) -> list[Passage]:
        if not isinstance(document_id, str):
            raise InputError(f"an id must be a string, not {type(document_id).__name__}")
        parts = self._collection.of_document(document_id, self._filter_expression(), self._now)
        if not parts:
            raise UnknownDocumentError(f"unknown document id {document_id[:80]!r}")
        return parts

    def _list(
        self, query: QueryContext, stage: Retrieve, allowed: str, deadline: Deadline
    ) -> list[tuple[Passage, float]]:
        """Return what a retrieving stage finds in Milvus, best first, with scores."""
        name, now = stage.ranker, self._now
        if name not in now.fields:
            raise InputError(
                f"the collection {now.collection!r} has no vectors of the ranker {name!r} of this "
                f"bundle; retrieve by {', '.join(now.fields)}"
            )
        if stage.k > MOST:
            raise InputError(f"Milvus retrieves up to {MOST:,} entities; give k ≤ {MOST:,}")
        ranker = open_ranker(self.files, name)
        vector = ranker.query_vector(query) if isinstance(ranker, Retriever) else None
        if vector is None:
            raise InputError(f"the ranker {name!r} has no vector of a query")
        return self._collection.search(name, vector, stage.k, allowed, deadline, now)
