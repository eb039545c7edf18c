"""A bundle whose collection Milvus stores, ranked by the bundle's models."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.arguments import Document, check_budget, check_query, listed
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError, RemoteError
from ranklet.runtime.hits import Hit, Ranking
from ranklet.runtime.lexical.query_syntax import Query
from ranklet.runtime.metadata.where import Both, Condition, read_where
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.fusion import FIXED
from ranklet.runtime.pipeline.resolve import PipelineLike, resolve_pipeline
from ranklet.runtime.remote.collection import MilvusCollection, Published, ReplacedError
from ranklet.runtime.remote.connection import SECONDS, TOKEN_VARIABLE
from ranklet.runtime.remote.expressions import expression
from ranklet.runtime.remote.search import RemoteSearch
from ranklet.runtime.search.asynchronous import in_thread
from ranklet.runtime.search.selection import Selection, check_group_by
from ranklet.runtime.search.visible import Where
from ranklet.runtime.storage.address import raw_text, shown
from ranklet.runtime.storage.bundle_files import Check

TRIES = 3  # of a call during which the collection is replaced

T = TypeVar("T")


class RemoteBundle(Bundle):
    """A bundle that ranks a collection in Milvus in place of its own; `load` returns it.

    The retrieving stages of a pipeline are searches in Milvus. All other stages run here, on the
    texts that Milvus returns. The bundle may be one without documents. BM25 and Conformer-Kernels
    number the words of a collection, so only the bundle that was published, or one with the same
    vocabulary, has vectors of queries for them.

    Args:
        path: a folder or an uncompressed .zip.
        address: of the collection; see `MilvusCollection`.
        check: ``fast`` or ``full``; see `load`.
        device: where models run; see `load`.
        strict: whether a missing device is an error; see `load`.
        token: what Milvus asks for, such as ``user:password``.
        seconds: for a call of Milvus without a budget.
        cache: the folder for blocks of a bundle's address; see `load`.

    Raises:
        InputError: the address is none, or the collection does not belong to the bundle.
        RemoteError: Milvus does not answer, or has no such collection.
        MissingPackageError: the extra [milvus] is not installed.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(
        self,
        path: str | Path,
        address: str,
        check: Check = "fast",
        *,
        device: str = "auto",
        strict: bool = False,
        token: str = "",
        seconds: float = SECONDS,
        cache: str | Path | None = None,
    ) -> None:
        super().__init__(path, check, device=device, strict=strict, cache=cache)
        self.address = address
        self._collection = MilvusCollection(self._bundle, address, token=token, seconds=seconds)
        self._remote = RemoteSearch(self._bundle, self._collection)
        self._only: Condition | None = None
        self._types = self.metadata

    def close(self) -> None:
        """End the connection; the collection cannot be ranked afterwards."""
        self._collection.close()
        _connected.cache_clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether the connection was ended."""
        return self._collection.closed

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as path and address, so that each process opens and connects once."""
        path = raw_text(self.path.absolute())
        cache = None if self.files.cache is None else str(self.files.cache)
        return _open_again, (path, self.address, self.device, self.strict, self._only, cache)

    def under(self, condition: Condition) -> "RemoteBundle":
        """Return the bundle as `only` does, by the condition that was made of a filter."""
        restricted = object.__new__(RemoteBundle)
        restricted.__dict__.update(self.__dict__, _only=condition, _types=self.metadata)
        return restricted

    def only(self, where: Where) -> "RemoteBundle":
        """Return the bundle as if it had only the documents that a filter allows.

        Raises:
            InputError: the filter cannot be used.
        """
        return self.under(self._joined(where, self._collection.published))

    @property
    def restriction(self) -> Condition | None:
        """The condition that documents must fulfil to be seen; None unless `only` was called."""
        return self._only

    def __repr__(self) -> str:
        return f"<ranklet bundle {str(self.path)!r}, which ranks {shown(self.address)!r}>"

    @property
    def has_collection(self) -> bool:
        """Whether there are documents to rank, which is true of any collection in Milvus."""
        return True

    @property
    def titles(self) -> bool:
        """Whether a document's title is part of its ranked text."""
        return self._collection.published.titles

    @property
    def metadata(self) -> Mapping[str, str]:
        """The type of each field of the documents besides id, title and text."""
        return self._collection.published.metadata

    def __len__(self) -> int:
        """Return the number of documents in the collection; passages of one count once."""
        return self._steady(lambda now: self._collection.count(self._allowed(None, now), now))

    @property
    def passages(self) -> int:
        """The number of passages that are ranked; 0 if all documents are whole."""
        return self._steady(
            lambda now: self._collection.count(self._allowed(None, now), now, passages=True)
        )

    def sample_texts(self, count: int) -> list[str]:
        """Return titles of some documents, or beginnings of texts, as sample queries."""
        return self._steady(
            lambda now: self._collection.samples(count, self._allowed(None, now), now)
        )

    def rank(
        self,
        query: str | Query,
        documents: Sequence[Document] | None = None,
        *,
        k: int = 10,
        where: Where | None = None,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
        offset: int = 0,
        min_score: float | None = None,
        group_by: str | None = None,
        group_size: int = 1,
    ) -> Ranking:
        """Rank the collection, or the caller's own documents, for a query; see `Bundle.rank`.

        Milvus applies the filter while it searches. The score that retrieved a text is explained by
        the text itself, as far as the bundle can score it. A search in Milvus that takes longer
        than `budget_ms` is an error, because nothing could be returned.

        Raises:
            InputError: as `Bundle.rank`, or the query has phrases, excluded words or prefixes, or
                the pipeline retrieves by a ranker that the collection has no vectors of.
            RemoteError: Milvus did not answer, or not in time.
            UnknownRankerError, BundleError: as `Bundle.rank`.
        """
        if documents is not None:
            return super().rank(
                query, documents, k=k, where=where, pipeline=pipeline, explain=explain,
                budget_ms=budget_ms, offset=offset, min_score=min_score, group_by=group_by,
                group_size=group_size,
            )  # fmt: skip
        selection = Selection(
            k=k, offset=offset, min_score=min_score, group_by=group_by, group_size=group_size
        )
        text = _plain(query)
        check_budget(budget_ms)
        deadline = Deadline(budget_ms)
        stages = resolve_pipeline(pipeline, self.manifest)
        if group_by is not None:
            check_group_by(group_by, self.metadata)
        ranking = self._steady(
            lambda now: self._remote.rank(
                text, stages, selection, self._allowed(where, now), deadline, now, explain=explain
            )
        )
        return replace(ranking, marks=partial(self.marks, text, pipeline=pipeline))

    rank_async = in_thread(rank)  # the inherited one ranks the bundle's own collection
    """Rank as `rank` does, in a thread; see `Bundle.rank_async`."""

    def rank_ids(
        self,
        query: str | Query,
        *,
        k: int = 1000,
        where: Where | None = None,
        pipeline: PipelineLike = None,
    ) -> list[tuple[str, float]]:
        """Rank the collection and return only (id, score); see `rank`."""
        found = self.rank(query, k=k, where=where, pipeline=pipeline)
        return [(hit.id, hit.score) for hit in found]

    def score(
        self,
        query: str,
        documents: Sequence[Document] | None = None,
        *,
        ids: Sequence[str] | None = None,
        pipeline: PipelineLike = None,
    ) -> NDArray[np.float32]:
        """Score documents for a query, in their order; see `Bundle.score`.

        Texts of `ids` are read from Milvus and scored by the bundle.

        Raises:
            InputError: as `Bundle.score`.
            RemoteError: Milvus did not answer.
        """
        if documents is not None or ids is None:
            return super().score(query, documents, ids=ids, pipeline=pipeline)
        check_query(query)
        wanted = listed(ids, "ids", "put the one id in a list")
        stages = resolve_pipeline(pipeline, self.manifest)
        return self._steady(
            lambda now: self._remote.score(query, wanted, stages, self._allowed(None, now), now)
        )

    def explained(self, query: str, document_id: str, *, pipeline: PipelineLike = None) -> Hit:
        """Return a document of the collection as a hit with its explanation; see `explain`."""
        check_query(query)
        stages = resolve_pipeline(pipeline, self.manifest)
        return self._steady(
            lambda now: self._remote.explained(
                query, document_id, stages, self._allowed(None, now), now
            )
        )

    def features(
        self,
        query: str,  # noqa: ARG002
        *,
        pipeline: PipelineLike = None,  # noqa: ARG002
        scaling: str = FIXED,  # noqa: ARG002
    ) -> NoReturn:
        """Refuse, because fusions are learned on the collection of a bundle.

        Raises:
            InputError: always.
        """
        raise InputError(
            "fusions are learned on the collection that a bundle has; use the bundle that was "
            "published, without the address of Milvus"
        )

    def _steady(self, call: Callable[[Published], T]) -> T:
        """Return what a call returns, and repeat it if the collection is replaced meanwhile."""
        for _ in range(TRIES - 1):
            try:
                return call(self._collection.published)
            except ReplacedError:
                continue
        return call(self._collection.published)

    def _joined(self, where: Where, now: Published) -> Condition:
        condition = read_where(where, now.metadata)
        return condition if self._only is None else Both((self._only, condition))

    def _allowed(self, where: Where | None, now: Published) -> str:
        """Return the expression of a filter and of the restriction, "" for neither."""
        if self._only is not None and now.metadata != self._types:
            # A filter that was made for other fields could allow what it should hide.
            raise RemoteError(
                "the collection was replaced by one with other fields of the metadata, so a filter "
                "may mean something else; open the bundle again"
            )
        condition = self._only if where is None else self._joined(where, now)
        return "" if condition is None else expression(condition, now.metadata)


def _plain(query: str | Query) -> str:
    """Return the text of a query.

    Raises:
        InputError: it is empty, or has more than words.
    """
    if not isinstance(query, Query):
        check_query(query)
        return query
    if query != Query(query.text):
        raise InputError(
            "phrases, excluded words, prefixes and typos are looked up in the collection of a "
            "bundle, and not in Milvus; leave them out"
        )
    return query.text


def _open_again(
    path: str,
    address: str,
    device: str,
    strict: bool,
    only: Condition | None,
    cache: str | None = None,
) -> RemoteBundle:
    bundle = _connected(path, address, device, strict, cache)
    return bundle if only is None else bundle.under(only)


@lru_cache(maxsize=8)
def _connected(
    path: str, address: str, device: str, strict: bool, cache: str | None
) -> RemoteBundle:
    token = os.environ.get(TOKEN_VARIABLE, "")
    return RemoteBundle(path, address, device=device, strict=strict, token=token, cache=cache)
