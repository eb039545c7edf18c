"""What the components of all frameworks share: options, ranking, and a hit as metadata."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ranklet.runtime import Bundle, Context, ContextSpan, Hit, InputError, Ranking
from ranklet.runtime.answers.plain import plain
from ranklet.runtime.asks import OWN, Ask, ContextAsk, keywords
from ranklet.runtime.pipelines.pipeline import own_pipeline
from ranklet.runtime.pipelines.signals import read_signals
from ranklet.runtime.ranking import opened
from ranklet.runtime.search.boosting import check_boost
from ranklet.runtime.search.reading import check_metadata
from ranklet.runtime.search.whole_document import WholeDocument
from ranklet.runtime.storage.address import BundleLike, located, raw_text

_COMPUTED = ("passage", "start", "end", "heading", "relevance", "spans", "explanation")


def check(bundle: BundleLike, options: Mapping[str, Any], *, retrieves: bool) -> None:
    """Refuse unusable options when a component is made, before its first query.

    Args:
        bundle: a bundle or its path.
        options: keywords of `Bundle.rank`; a `k` of None stands for all documents.
        retrieves: whether the component searches the bundle's own collection.

    Raises:
        InputError: an option is unknown or invalid, or the bundle has no collection to search.
        UnknownRankerError: the bundle has no such pipeline.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """
    found = opened(bundle)
    _check_names(options, {"tokens"} if retrieves else ())
    chosen = {name: options[name] for name in keywords(Ask) if name in options}
    if options.get("tokens") is not None:
        ContextAsk(**_of_contexts(options))
    if not retrieves and chosen.get("k") is None:
        chosen["k"] = 0
    ask = Ask(**chosen)
    if not retrieves:
        ask.refuse(OWN, "give it to the retriever, and not to what ranks its documents again")
    found.manifest.pipeline(ask.pipeline)
    if ask.where is not None:
        found.only(ask.where)
    if ask.boost is not None:
        check_boost(read_signals(ask.boost), found.metadata, found.manifest.remarks)
    check_metadata(ask, found.metadata, found.manifest.remarks)
    if retrieves and not len(found):
        raise InputError(
            f"{found.path} has no collection to retrieve from; add one with `ranklet index`, or "
            "rank the documents of another retriever with it"
        )


def rank(
    bundle: BundleLike,
    query: str,
    options: Mapping[str, Any],
    texts: Sequence[Mapping[str, str]] | None = None,
) -> Ranking:
    """Rank the collection, or a framework's documents, for a query.

    A bundle that was replaced on disk since the last query is opened again.

    Args:
        bundle: a bundle or its path.
        query: the query's text, not empty.
        options: keywords of `Bundle.rank`; a `k` of None returns all texts.
        texts: what `own_text` made of the framework's documents; None ranks the collection.

    Raises:
        RankletError: as `Bundle.rank`, or an option is unknown.
    """
    _check_names(options)
    passed = dict(options)
    if texts is not None and passed.get("k") is None:
        passed["k"] = len(texts)
    return opened(bundle).rank(query, texts, **passed)


async def rank_async(
    bundle: BundleLike,
    query: str,
    options: Mapping[str, Any],
    texts: Sequence[Mapping[str, str]] | None = None,
) -> Ranking:
    """Do the same in a thread, because opening a bundle would also keep the event loop waiting."""
    return await asyncio.to_thread(rank, bundle, query, options, texts)


class Found(NamedTuple):
    """What a framework gets of a hit, or of a part of a document.

    Attributes:
        id: of its own, which no other one of an answer has.
        document: the id of its document.
        text: the text.
        score: higher is better.
        metadata: fields and title of the document, and what was computed.
        start: the text's first character in its document; None if the document is whole.
        end: the character after its last one.
        page: which page of a file the document is; None if it is none.
    """

    id: str
    document: str
    text: str
    score: float
    metadata: dict[str, Any]
    start: int | None
    end: int | None
    page: int | None


def retrieve(bundle: BundleLike, query: str, options: Mapping[str, Any]) -> list[Found]:
    """Return hits, or with the option `tokens` the parts of documents that fit; see `rank`.

    Raises:
        RankletError: as `rank` and `Bundle.context`.
    """
    if options.get("tokens") is None:
        ranking = rank(bundle, query, {k: v for k, v in options.items() if k != "tokens"})
        return [_of_hit(hit, ranking) for hit in ranking]
    found = opened(bundle).context(query, **_of_contexts(options))
    return [_of_span(span, found) for span in found][: options.get("k")]


async def retrieve_async(bundle: BundleLike, query: str, options: Mapping[str, Any]) -> list[Found]:
    """Do the same in a thread, because opening a bundle would also keep the event loop waiting."""
    return await asyncio.to_thread(retrieve, bundle, query, options)


def _of_hit(hit: Hit, ranking: Ranking) -> Found:
    start, end = (None, None) if hit.location is None else (hit.start, hit.end)
    metadata = {**stored(hit), **computed(hit, ranking)}
    return Found(hit.id, hit.id, hit.text, hit.score, metadata, start, end, hit.page)


def _of_span(span: ContextSpan, found: Context) -> Found:
    values = {"document": span.id, "heading": list(span.heading), "relevance": span.relevance}
    values |= {"start": span.start, "end": span.end, "left_out": list(found.left_out)}
    known = {name: value for name, value in values.items() if value not in (None, [])}
    name = span.id if span.start is None else f"{span.id}#{span.start}-{span.end}"
    metadata = {**stored(span), **known}
    return Found(
        name, span.id, span.text, span.score or 0.0, metadata, span.start, span.end, span.page
    )


def _of_contexts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `Bundle.context`.

    Raises:
        InputError: an option is one of `Bundle.rank` only.
    """
    known, own = keywords(ContextAsk), {"k": None, "explain": False}
    for name, value in options.items():
        if name not in known and name != "k" and value != own.get(name):
            raise InputError(f"{name} is of hits; leave it out, or leave tokens out")
    return {name: value for name, value in options.items() if name in known}


def own_text(text: object, metadata: Mapping[str, Any], place: int) -> dict[str, str]:
    """Return a framework's document as `Bundle.rank` takes it.

    A string ``title`` in its metadata is ranked, too, as the title of a stored document is.

    Raises:
        InputError: the document has no text, as that of an image.
    """
    if not isinstance(text, str):
        raise InputError(
            f"documents[{place}] has no text and cannot be ranked; leave it out or give it a text"
        )
    title = metadata.get("title")
    return {"text": text, "title": title if isinstance(title, str) else ""}


def stored(hit: Hit | ContextSpan | WholeDocument) -> dict[str, Any]:
    """Return what the bundle knows of a document besides its id and text: fields and title.

    They are plain values, because frameworks store documents as JSON.
    """
    known = plain(hit.metadata)
    return {**known, "title": hit.title} if hit.title else known


def computed(hit: Hit, ranking: Ranking) -> dict[str, Any]:
    """Return everything but the score that a ranking says about a hit, as plain values for JSON.

    They are ``passage``, ``start``, ``end`` and perhaps ``heading`` if its document is split,
    ``relevance``, ``spans`` and ``explanation`` if they were requested, and ``left_out`` with the
    stages that the budget left no time for, if there are any.
    """
    values = {name: each for name, each in hit.to_dict().items() if name in _COMPUTED}
    if ranking.left_out:
        values["left_out"] = list(ranking.left_out)
    return values


def absolute_path(bundle: BundleLike) -> str:
    """Return the absolute path of a bundle, by which a stored component opens it again.

    Raises:
        InputError: the bundle shows only a part of its documents, or ranks a collection in Milvus,
            and its path leads to others.
    """
    if isinstance(bundle, Bundle) and bundle.collection is not None:
        raise InputError(
            "a component over a collection in Milvus cannot be stored, because the bundle's path "
            "leads to the bundle's own documents; make the component again where it is needed"
        )
    if isinstance(bundle, Bundle) and bundle.restriction is not None:
        raise InputError(
            "a component over a restricted bundle cannot be stored, because the bundle's path "
            "leads to all documents; give the component the path and the filter as where="
        )
    return raw_text(bundle.path.absolute() if isinstance(bundle, Bundle) else located(bundle))


def plain_pipeline(pipeline: Any) -> Any:
    """Return a pipeline as a name or a list of stages, for JSON.

    Raises:
        InputError: it is not a pipeline.
    """
    if pipeline is None or isinstance(pipeline, str):
        return pipeline
    return own_pipeline(pipeline).to_json()


def _check_names(options: Mapping[str, Any], others: Iterable[str] = ()) -> None:
    known = [*keywords(Ask), *others]
    for name in options:
        if name not in known:
            raise InputError(f"unknown option {name!r}; the options are {', '.join(known)}")
