"""Answers to parsed JSON bodies: rank, explain, rerank. Pure: no HTTP, no environment, no log.

Every handler calls these three functions, so that a Lambda and a server answer alike:

    body = fields.parse(data)
    answer = answers.rank(bundle, body, limits)   # or explain, or rerank
    …except Exception as error: status, body = failures.failure(error)
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any, NamedTuple

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.fields import Fields
from ranklet.handlers.api.limits import Limits
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError
from ranklet.runtime.hits import Hit, Ranking, Timing

DEFAULT_K = 10
EXAMPLES = 6  # queries to try


class Answer(NamedTuple):
    """What is answered, and how long it took.

    Attributes:
        body: an object or a list, ready for JSON; every number in it is finite.
        timings: milliseconds by stage.
    """

    body: dict[str, Any] | list[Any]
    timings: tuple[Timing, ...] = ()


def rank(bundle: Bundle, body: Mapping[str, Any], limits: Limits) -> Answer:
    """Rank the collection, or `documents` of the caller's own, for a query.

    Fields: `query`; `k`, `pipeline` (a name), `explain`, `highlight` (where in its text a hit's
    explanation comes from), `return_documents`, `documents`.

    Raises:
        RankletError: see :func:`ranklet.handlers.api.errors.failure`.
    """
    fields = Fields(body)
    query, pipeline = _asked(fields, limits)
    explain, highlight = fields.flag("explain"), fields.flag("highlight")
    most = limits.explained if explain or highlight else limits.k
    k = fields.number("k", min(DEFAULT_K, most), 0, most)
    own = None
    if fields.has("documents"):
        own = fields.texts("documents", limits.documents, limits.characters)
    elif not len(bundle):
        raise RequestError(422, "this bundle has no collection to rank: give 'documents'")
    whole = fields.flag("return_documents", default=True)
    ranking = bundle.rank(query, own, k=k, pipeline=pipeline, explain=explain or highlight)
    hits = [_hit(each, whole, explain) for each in ranking]
    if highlight:
        for shown, hit in zip(hits, ranking, strict=True):
            shown["highlights"] = _highlights(bundle, hit)
    told: dict[str, Any] = {"query": query, "hits": hits, "ms": _milliseconds(ranking)}
    if ranking.truncated:
        told["truncated"] = dict(ranking.truncated)
    return Answer(told, ranking.timings)


def explain(bundle: Bundle, body: Mapping[str, Any], limits: Limits) -> Answer:
    """Explain the score of one document of the collection, ranked high or not.

    Fields: `query`, `id`; `pipeline`.
    """
    fields = Fields(body)
    query, pipeline = _asked(fields, limits)
    identity = fields.text("id", limits.query_characters)
    if not len(bundle):
        raise RequestError(422, "this bundle has no collection, so no document to explain")
    found = bundle.explain(query, identity, pipeline=pipeline)
    score = _finite(found.value)
    return Answer({"query": query, "id": identity, "score": score, "explanation": found.to_json()})


def rerank(bundle: Bundle, body: Mapping[str, Any], limits: Limits, version: str = "") -> Answer:
    """Score the caller's texts for a query, in the shapes that existing clients expect.

    A body with `texts` is TEI's and gets a bare list; one with `documents` is Cohere's or Jina's,
    and gets an object that serves both. Scores are the bundle's own, higher is better; they are
    not probabilities.

    Args:
        bundle: whose rankers score.
        body: `query`, and `texts` or `documents`; `top_n` (or `top_k`), `return_documents` (or
            `return_text`), `model` and `pipeline`.
        limits: what is allowed.
        version: of Cohere's interface, for its reply: "1" or "2".
    """
    fields = Fields(body)
    query, pipeline = _asked(fields, limits)
    of_tei = fields.has("texts")
    if of_tei and fields.has("documents"):
        raise RequestError(422, "give either 'texts' or 'documents', not both")
    texts = fields.texts("texts" if of_tei else "documents", limits.documents, limits.characters)
    top = fields.number("top_n", len(texts), 1, 1 << 31)
    top = fields.number("top_k", top, 1, 1 << 31)
    shown = fields.flag("return_text") or fields.flag("return_documents")
    model = fields.optional_text("model") or "ranklet"
    if of_tei:
        _check_tei(fields)
    ranking = bundle.rank(query, texts, k=min(top, len(texts)), pipeline=pipeline)
    shape = _tei if of_tei else _cohere
    results = [shape(each, texts[each.index]["text"] if shown else None) for each in ranking]
    if of_tei:
        return Answer(results, ranking.timings)
    reply: dict[str, Any] = {"model": model, "results": results}
    # Nothing is metered here, and both clients want their bill.
    reply["usage"] = {"prompt_tokens": 0, "total_tokens": 0}
    reply["meta"] = {"billed_units": {"search_units": 0}}
    if version:
        reply["meta"]["api_version"] = {"version": version}
    return Answer(reply, ranking.timings)


def info(bundle: Bundle, limits: Limits) -> dict[str, Any]:
    """Return what a caller may want to know of a bundle: what to ask for, and how much of it."""
    manifest = bundle.manifest
    return {
        "documents": len(bundle),
        "rankers": {name: entry.kind for name, entry in manifest.rankers.items()},
        "pipelines": {name: str(recipe) for name, recipe in manifest.pipelines.items()},
        "default_pipeline": manifest.default_pipeline,
        "examples": [text.strip()[:80] for text in _examples(bundle)],
        "limits": asdict(limits),
    }


def _examples(bundle: Bundle) -> list[str]:
    return bundle.sample_texts(EXAMPLES) if len(bundle) else []


def _asked(fields: Fields, limits: Limits) -> tuple[str, str | None]:
    """Return the query and the pipeline's name, which every request may have.

    A recipe of the caller's own could ask for work without bound, so only names are taken.
    """
    return fields.text("query", limits.query_characters), fields.optional_text("pipeline")


def _hit(hit: Hit, whole: bool, explained: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"id": hit.id, "score": _finite(hit.score), "index": hit.index}
    if whole:
        found |= {"title": hit.title, "text": hit.text}
    if explained and hit.explanation is not None:
        found["explanation"] = hit.explanation.to_json()
    return found


def _highlights(bundle: Bundle, hit: Hit) -> dict[str, list[dict[str, Any]]]:
    """Return spans of the title and of the text, in characters (code points), and their amounts."""
    found: dict[str, list[dict[str, Any]]] = {"title": [], "text": []}
    if hit.explanation is None:
        return found
    ends = len(hit.title) + 1  # where the text begins: both are ranked as one, a line each
    for span in bundle.highlight(hit):
        part, shift = ("text", ends) if span.begin >= ends else ("title", 0)
        begin, end = span.begin - shift, span.end - shift
        found[part].append({"begin": begin, "end": end, "value": _finite(span.value)})
    return found


def _cohere(hit: Hit, text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"index": hit.index, "relevance_score": _finite(hit.score)}
    return found if text is None else {**found, "document": {"text": text}}


def _tei(hit: Hit, text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"index": hit.index, "score": _finite(hit.score)}
    return found if text is None else {**found, "text": text}


def _check_tei(fields: Fields) -> None:
    """Check what TEI's clients send and nothing here hangs on: texts are cut by the encoder."""
    fields.flag("truncate")
    fields.flag("raw_scores")
    side = fields.optional_text("truncation_direction") or "right"
    if side.lower() not in ("left", "right"):  # a client of TEI's writes "Right"
        raise RequestError(422, f"'truncation_direction' is {side[:40]!r}; left or right")


def _milliseconds(ranking: Ranking) -> dict[str, float]:
    return {stage: round(ms, 3) for stage, ms in ranking.timings}


def _finite(score: float) -> float:
    """Return a score that JSON can hold; the runtime checks them, and this is the last gate."""
    if not isfinite(score):
        raise BundleError("a score is not finite: the bundle is damaged")
    return score


ANSWERS: dict[str, Callable[[Bundle, Mapping[str, Any], Limits], Answer]] = {
    "/rank": rank,
    "/explain": explain,
    "/rerank": rerank,
    "/v1/rerank": lambda bundle, body, limits: rerank(bundle, body, limits, "1"),
    "/v2/rerank": lambda bundle, body, limits: rerank(bundle, body, limits, "2"),
}
