"""Haystack: a retriever over a bundle, and a ranker of other components' documents.

>>> from ranklet.integrations.haystack import RankletRetriever
>>> RankletRetriever("search.ranklet", top_k=5).run("knead dough")  # doctest: +SKIP

Both need the extra ``[haystack]``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from ranklet.integrations.search import (
    Found,
    absolute_path,
    check,
    computed,
    own_text,
    plain_pipeline,
    rank,
    rank_async,
    retrieve,
    retrieve_async,
)
from ranklet.runtime import InputError, Ranking
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.pipelines.pipeline import PipelineLike
from ranklet.runtime.storage.address import BundleLike

with hint_packages():
    from haystack import Document, component, default_from_dict, default_to_dict


_RENAMED = ("k", "pipeline")  # options that are not stored as they are


class _Stored:
    """A component that can be stored."""

    bundle: BundleLike
    options: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values, with the bundle as its path."""
        others = {name: each for name, each in self.options.items() if name not in _RENAMED}
        found: dict[str, Any] = default_to_dict(
            self,
            bundle=absolute_path(self.bundle),
            top_k=self.options["k"],
            pipeline=plain_pipeline(self.options["pipeline"]),
            **others,
        )
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the component that `to_dict` described, and open its bundle.

        Raises:
            RankletError: as the class.
        """
        made: Self = default_from_dict(cls, data)
        return made


@component
class RankletRetriever(_Stored):
    """Retrieve from the collection of a bundle.

    A document has the id and the text of a hit, its score, and as meta the fields of the stored
    document, ``title``, ``source_id``, which is the id of the document, and perhaps
    ``page_number``. It also has ``passage``, ``split_idx_start``, ``start``, ``end`` and perhaps
    ``heading`` if its document is split, ``explanation`` if it was requested, and ``left_out`` if
    the budget ended early. These names take precedence over fields of the same names.

    With ``tokens`` the documents are the parts that `Bundle.context` returns, at most `top_k`.

    Args:
        bundle: a bundle or its path.
        top_k: maximum number of documents, the `k` of `Bundle.rank`.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        options: ``tokens``, any further keyword of `Bundle.rank`, or with tokens of
            `Bundle.context`.

    Raises:
        InputError: an option is unknown or invalid, or the bundle has no collection.
        UnknownRankerError: the bundle has no such pipeline.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(
        self,
        bundle: BundleLike,
        top_k: int = 10,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
        **options: Any,
    ) -> None:
        self.bundle = bundle
        self.options = _options(top_k, pipeline, explain, budget_ms, options)
        check(bundle, self.options, retrieves=True)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Retrieve documents for a query, best first.

        Args:
            query: the query's text, not empty.
            top_k: replaces the component's `top_k` for this query.

        Raises:
            RankletError: as `Bundle.rank`.
        """
        return _retrieved(retrieve(self.bundle, query, _with_k(self.options, top_k)))

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Do the same in a thread, so that the event loop stays free."""
        return _retrieved(await retrieve_async(self.bundle, query, _with_k(self.options, top_k)))


@component
class RankletRanker(_Stored):
    """Rank the documents of other components again, and keep the best.

    It returns new documents with the meta of the given ones, and with ``explanation`` and
    ``left_out`` as `RankletRetriever` has. A ``title`` in the meta is ranked with the text.

    Args:
        bundle: a bundle or its path; it needs no collection.
        top_k: maximum number of documents; None keeps all.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        options: any further keyword of `Bundle.rank`.

    Raises:
        RankletError: as `RankletRetriever`, but a bundle without a collection is enough.
    """

    def __init__(
        self,
        bundle: BundleLike,
        top_k: int | None = None,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
        **options: Any,
    ) -> None:
        self.bundle = bundle
        self.options = _options(top_k, pipeline, explain, budget_ms, options)
        check(bundle, self.options, retrieves=False)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Rank documents for a query, best first.

        Args:
            query: the query's text, not empty.
            documents: what to rank; each needs a text.
            top_k: replaces the component's `top_k` for this query.

        Raises:
            RankletError: as `Bundle.rank`.
        """
        options = _with_k(self.options, top_k)
        return _ranked(documents, rank(self.bundle, query, options, _texts(documents)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Do the same in a thread, so that the event loop stays free."""
        options = _with_k(self.options, top_k)
        return _ranked(documents, await rank_async(self.bundle, query, options, _texts(documents)))


def _options(
    top_k: int | None,
    pipeline: PipelineLike,
    explain: bool,
    budget_ms: float | None,
    others: dict[str, Any],
) -> dict[str, Any]:
    """Return the keywords of `Bundle.rank`."""
    if "k" in others:
        raise InputError("the number of documents is called top_k in Haystack, not k")
    return {
        "k": top_k, "pipeline": pipeline, "explain": explain, "budget_ms": budget_ms, **others
    }  # fmt: skip


def _with_k(options: dict[str, Any], top_k: int | None) -> dict[str, Any]:
    return options if top_k is None else {**options, "k": top_k}


def _retrieved(found: Sequence[Found]) -> dict[str, list[Document]]:
    documents = [
        Document(
            id=each.id,
            content=each.text,
            meta={**each.metadata, "source_id": each.document, **_place(each)},
            score=each.score,
        )
        for each in found
    ]
    return {"documents": documents}


def _place(each: Found) -> dict[str, int]:
    """Return the page and the first character as Haystack's splitters name them."""
    places = {"page_number": each.page, "split_idx_start": each.start}
    return {name: place for name, place in places.items() if place is not None}


def _texts(documents: Sequence[Document]) -> list[dict[str, str]]:
    return [own_text(each.content, each.meta, place) for place, each in enumerate(documents)]


def _ranked(documents: Sequence[Document], ranking: Ranking) -> dict[str, list[Document]]:
    """Return copies of the ranked documents; the caller's own stay as they are."""
    found = []
    for hit in ranking:
        document = documents[hit.index]
        meta = {**document.meta, **computed(hit, ranking)}
        found.append(replace(document, meta=meta, score=hit.score))
    return {"documents": found}
