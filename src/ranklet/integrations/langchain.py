"""LangChain: a retriever over a bundle, and a compressor that ranks other retrievers' documents.

>>> from ranklet.integrations.langchain import RankletRetriever
>>> RankletRetriever(bundle="search.ranklet", k=5).invoke("knead dough")  # doctest: +SKIP

Both need the extra ``[langchain]``. They are pydantic models, so ``model_dump`` and
``model_validate`` store and restore them, with the bundle as its path.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from ranklet.integrations.search import computed, own_text, rank, rank_async, stored
from ranklet.runtime import Ranking
from ranklet.runtime.extras import hinted

with hinted():
    from langchain_core.documents import Document
    from langchain_core.documents.compressor import BaseDocumentCompressor
    from langchain_core.retrievers import BaseRetriever
    from pydantic import SkipValidation

    from ranklet.integrations.component import Component

SCORE = "relevance_score"  # where LangChain's rerankers put a document's score


class RankletRetriever(BaseRetriever, Component):
    """Retrieve from the collection of a bundle.

    A document has the text of a hit, its id, and as metadata the fields of the stored document,
    ``title`` and ``relevance_score``. It also has ``passage`` if its document is split,
    ``explanation`` if it was requested, and ``left_out`` if the budget ended early. These names
    take precedence over fields of the same names.

    ``invoke`` and ``ainvoke`` accept the options, too, for one query: ``invoke("dough", k=3)``.

    Args:
        bundle: a bundle or its path.
        k: maximum number of documents.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        values: any further keyword of `Bundle.rank`, and fields of LangChain such as ``tags``.

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
        return _retrieved(rank(self.bundle, query, self.options | options))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Any,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        return _retrieved(await rank_async(self.bundle, query, self.options | options))


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


def _retrieved(ranking: Ranking) -> list[Document]:
    return [
        Document(
            id=hit.id,
            page_content=hit.text,
            metadata={**stored(hit), **computed(hit, ranking), SCORE: hit.score},
        )
        for hit in ranking
    ]


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
