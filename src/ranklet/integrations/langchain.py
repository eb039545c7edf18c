"""LangChain: a retriever over a bundle, a store, and a compressor of other retrievers' documents.

>>> from ranklet.integrations.langchain import RankletRetriever
>>> RankletRetriever(bundle="search.ranklet", k=5).invoke("knead dough")  # doctest: +SKIP

All need the extra ``[langchain]``. Retriever and compressor are pydantic models, so ``model_dump``
and ``model_validate`` store and restore them, with the bundle as its path.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self
from uuid import uuid4

from ranklet.integrations import stores as writing
from ranklet.integrations.search import (
    Found,
    check,
    computed,
    own_text,
    rank,
    retrieve,
    retrieve_async,
    stored,
)
from ranklet.runtime import Bundle, InputError, Ranking, UnknownDocumentError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import as_list
from ranklet.runtime.ranking import opened
from ranklet.runtime.storage.address import BundleLike

with hint_packages():
    from langchain_core.documents import Document
    from langchain_core.documents.compressor import BaseDocumentCompressor
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import SkipValidation

    from ranklet.integrations.component import Component

SCORE = "relevance_score"  # where LangChain's rerankers put a document's score


class RankletRetriever(BaseRetriever, Component):
    """Retrieve from the collection of a bundle.

    A document has the text of a hit, its id, and as metadata the fields of the stored document,
    ``title``, ``relevance_score``, and ``source``, which is the document's id unless it has such a
    field. It also has ``passage``, ``start_index``, ``start``, ``end`` and perhaps ``heading`` if
    its document is split, ``explanation`` if it was requested, and ``left_out`` if the budget ended
    early. These names take precedence over fields of the same names.

    With ``tokens`` the documents are the parts that `Bundle.context` returns, at most k of them.

    ``invoke`` and ``ainvoke`` accept the options, too, for one query: ``invoke("dough", k=3)``.

    Args:
        bundle: a bundle or its path.
        k: maximum number of documents.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        values: ``tokens``, any further keyword of `Bundle.rank`, or with tokens of
            `Bundle.context`, and fields of LangChain such as ``tags``.

    Raises:
        InputError: an option is unknown or invalid, or the bundle has no collection.
        UnknownRankerError: the bundle has no such pipeline.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    retrieves: ClassVar[bool] = True
    k: SkipValidation[int] = 10

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Any,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        return _retrieved(retrieve(self.bundle, query, self.options | options))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Any,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        return _retrieved(await retrieve_async(self.bundle, query, self.options | options))


class RankletVectorStore(VectorStore):
    """A bundle as a vector store: its documents are searched, added and deleted.

    The bundle encodes texts itself, so no embedding is needed. Metadata become fields to filter by.
    What is added is found by everybody who opens the bundle.

    Args:
        bundle: a bundle on disk, or its path.
        options: keywords of `Bundle.rank` for all queries.

    Raises:
        RankletError: as `RankletRetriever`.
    """

    def __init__(self, bundle: BundleLike, **options: Any) -> None:
        check(bundle, {"k": 1, **options}, retrieves=True)
        self.bundle = bundle.path if isinstance(bundle, Bundle) else bundle
        self.options = options

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **unknown: Any,
    ) -> list[str]:
        """Add texts, or replace those with the same ids; return the ids.

        Raises:
            RankletError: a text or its metadata cannot be used; nothing is added then.
        """
        if unknown:
            raise InputError(f"unknown options {', '.join(unknown)}; the only one is ids")
        given = as_list(texts, "texts", "put the one in a list")
        fields = metadatas or [{} for _ in given]
        names = [name or uuid4().hex for name in ids or [None] * len(given)]
        if not len(given) == len(fields) == len(names):
            raise InputError(
                f"there are {len(given)} texts, {len(fields)} metadatas and {len(names)} ids; give "
                "as many of each"
            )
        rows = zip(names, given, fields, range(len(given)), strict=True)
        return writing.add(self.bundle, [writing.document(*row) for row in rows])

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool | None:
        """Delete documents by their ids; unknown ones are none.

        Raises:
            InputError: no ids are given, or no document would remain.
        """
        if ids is None:
            raise InputError("ids are missing; a bundle cannot be emptied, so say what to delete")
        writing.delete(self.bundle, ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with some ids, without those that are unknown."""
        found = []
        for id_ in ids:
            try:
                found.append(opened(self.bundle).document(id_))
            except UnknownDocumentError:
                continue
        return [Document(id=e.id, page_content=e.text, metadata=stored(e)) for e in found]

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the documents that rank highest; options are keywords of `Bundle.rank`."""
        return _retrieved(retrieve(self.bundle, query, {**self.options, **options, "k": k}))

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their scores, of which higher ones are better."""
        found = self.similarity_search(query, k, **options)
        return [(each, each.metadata[SCORE]) for each in found]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        bundle: BundleLike | None = None,
        **options: Any,
    ) -> Self:
        """Add texts to a bundle and return it as a store; `ranklet.build` makes a new one.

        Raises:
            InputError: an embedding is given, which would not be used, or no bundle.
        """
        if embedding is not None or bundle is None:
            raise InputError(
                "give bundle= and embedding=None, because a bundle encodes texts itself; build one "
                "with ranklet.build(texts, PATH)"
            )
        store = cls(bundle, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store


class RankletCompressor(BaseDocumentCompressor, Component):
    """Rank the documents of another retriever again, and keep the best.

    It returns new documents with the metadata of the given ones and ``relevance_score``, and with
    ``explanation`` and ``left_out`` as `RankletRetriever` has. A ``title`` in the metadata is
    ranked with the text.

    Args:
        bundle: a bundle or its path; it needs no collection.
        k: maximum number of documents; None keeps all.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        values: any further keyword of `Bundle.rank`.

    Raises:
        RankletError: as `RankletRetriever`, but a bundle without a collection is enough.
    """

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Any = None,  # noqa: ARG002
    ) -> Sequence[Document]:
        """Return the documents that rank highest for a query, best first.

        Raises:
            RankletError: as `Bundle.rank`.
        """
        return _ranked(documents, rank(self.bundle, query, self.options, _texts(documents)))


def _retrieved(found: Sequence[Found]) -> list[Document]:
    return [
        Document(
            id=each.id,
            page_content=each.text,
            metadata={"source": each.document, **each.metadata, **_place(each), SCORE: each.score},
        )
        for each in found
    ]


def _place(each: Found) -> dict[str, int]:
    """Return where LangChain's splitters say that a text begins."""
    return {} if each.start is None else {"start_index": each.start}


def _texts(documents: Sequence[Document]) -> list[dict[str, str]]:
    return [
        own_text(each.page_content, each.metadata, place) for place, each in enumerate(documents)
    ]


def _ranked(documents: Sequence[Document], ranking: Ranking) -> list[Document]:
    """Return copies of the ranked documents; the caller's own stay as they are."""
    found = []
    for hit in ranking:
        document = documents[hit.index]
        metadata = {**document.metadata, **computed(hit, ranking), SCORE: hit.score}
        found.append(document.model_copy(update={"metadata": metadata}))
    return found
