"""Answer parsed JSON bodies: rank, explain, rerank, embed. No HTTP, no environment, no log.

Every handler calls these functions, so a Lambda function and a server give the same answers:

    body = reading.parse(data)
    answer = ANSWERS["/rank"](bundle, body, limits, budget_ms)
    …except Exception as error: status, body = errors.failure(error)
"""

from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import accumulate, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.examples import SAMPLES, example_queries
from ranklet.handlers.api.field import Route
from ranklet.handlers.api.limits import Limits, Room
from ranklet.handlers.api.reading import Request, typed
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import TooManySpansError
from ranklet.runtime.hits import Hit, Ranking, Timing

if TYPE_CHECKING:
    from ranklet.runtime.rankers.encoding import EncodedTexts

_SPAN_BYTES = len('{"begin":0,"end":1,"value":0}')
FEWER = "send fewer texts"  # to get a smaller answer
DEFAULT_MODEL = "ranklet"  # the name of the first ranker that encodes
DIGITS = 9  # after the point, of the numbers of a vector


class Answer(NamedTuple):
    """The answer to one request.

    Attributes:
        body: an object or a list for strict JSON, which also refuses scores that are not finite.
        timings: milliseconds per stage.
        left_out: the stages that the budget left no time for. An object says so in its body, too.
    """

    body: dict[str, Any] | list[Any]
    timings: tuple[Timing, ...] = ()
    left_out: tuple[str, ...] = ()


def rank(
    bundle: Bundle, body: Mapping[str, Any], limits: Limits, budget_ms: float | None = None
) -> Answer:
    """Rank the collection, or the caller's own `documents`, for a query.

    No stage begins after `budget_ms` milliseconds.

    Args:
        bundle: what ranks.
        body: a request whose fields `fields` lists for Route.RANK.
        limits: the largest values, and the largest answer.
        budget_ms: the time.

    Raises:
        RankletError: a field cannot be used, or the bundle is damaged; see
            `ranklet.handlers.api.errors.failure`.
    """
    deadline = Deadline(budget_ms)
    request = Request(Route.RANK, body, limits)
    explain, highlight = request["explain"], request["highlight"]
    most, which = limits.k, ""
    if explain or highlight or request["passages"] or request["context"]:
        most = limits.explained
        which = " with 'explain', 'highlight', 'passages' or 'context'"
    why = f"at most {most:,} hits come back{which}"
    k = request.at_most("k", most // request.at_most("group_size", most, why), why)
    request.at_most("offset", limits.k - k, f"with 'k' it is at most {limits.k:,}")
    wanted = request.rest("syntax", "typos", "highlight", "marks", "return_documents")
    wanted |= {"query": typed(request), "explain": explain or highlight}
    if wanted["documents"] is None and not bundle.has_collection:
        raise RequestError(422, "this bundle has no collection to rank: give 'documents'")
    ranking = bundle.rank(**wanted, budget_ms=budget_ms)
    with_text, room = request["return_documents"], Room(limits.answer_bytes)
    found = deadline.wanted(ranking)
    hits = [room.fit(hit.to_dict(text=with_text, explain=explain)) for hit in found]
    for shown, hit in zip(hits, ranking, strict=True) if with_text and request["marks"] else ():
        texts = {name: shown[name] for name in ("title", "snippet")}
        shown["marks"] = {name: list(map(list, hit.places(text))) for name, text in texts.items()}
    read = 0  # characters of texts, whose words are found again
    for number, (shown, hit) in enumerate(zip(hits, ranking, strict=True) if highlight else ()):
        read += len(hit.title) + len(hit.text)
        if number and (read > limits.characters or deadline.passed):
            left_out = f"highlight {len(hits) - number:,} of {len(hits):,} hits"
            ranking = replace(ranking, budget_spent=True, left_out=(*ranking.left_out, left_out))
            break
        shown["highlights"] = _highlights(bundle, hit, room)
    room.fit(ranking.counted())
    return Answer(ranking.to_dict(hits), ranking.timings, ranking.left_out)


def explain(
    bundle: Bundle, body: Mapping[str, Any], limits: Limits, budget_ms: float | None = None
) -> Answer:
    """Explain the score of one document of the collection, ranked high or not; see `rank`.

    If `budget_ms` is too short for all stages, that is an error, because a part of a score would be
    wrong.
    """
    request = Request(Route.EXPLAIN, body, limits)
    query, identity = request["query"], request["id"]
    how = {name: request[name] for name in ("pipeline", "boost")}
    if not bundle.has_collection:
        raise RequestError(422, "this bundle has no collection, so no document to explain")
    hit = bundle.explained(query, identity, budget_ms=budget_ms, **how)
    return Answer({"query": query, **Room(limits.answer_bytes).fit(hit.to_dict(text=False))})


def context(
    bundle: Bundle, body: Mapping[str, Any], limits: Limits, budget_ms: float | None = None
) -> Answer:
    """Return parts of documents that fit into a prompt; see `rank` and `Bundle.context`."""
    request = Request(Route.CONTEXT, body, limits)
    wanted = request.rest("syntax", "typos") | {"query": typed(request)}
    if not bundle.has_collection:
        raise RequestError(422, "this bundle has no collection, so no context to take from it")
    found = bundle.context(**wanted, budget_ms=budget_ms)
    late = found.left_out if found.budget_spent else ()
    return Answer(
        Room(limits.answer_bytes).fit(found.to_dict()), tuple(starmap(Timing, found.timings)), late
    )


def complete(
    bundle: Bundle,
    body: Mapping[str, Any],
    limits: Limits,
    budget_ms: float | None = None,  # noqa: ARG001  # it takes a few milliseconds
) -> Answer:
    """Complete what a person types; see `rank` and `Bundle.complete`."""
    fields = Request(Route.COMPLETE, body, limits).rest()
    if not bundle.has_collection:
        raise RequestError(422, "this bundle has no collection, so nothing to complete by")
    found = bundle.complete(fields["q"], fields["k"], where=fields["where"])
    return Answer({"query": fields["q"], "completions": [each._asdict() for each in found]})


def document(bundle: Bundle, identity: str) -> dict[str, Any]:
    """Return a document of the collection: its id, title, text and metadata.

    Raises:
        RequestError: 422: the bundle has no collection.
        UnknownDocumentError: there is no such document, or none that this part of the bundle has.
    """
    if not bundle.has_collection:
        raise RequestError(422, "this bundle has no collection, so no document to return")
    return bundle.document(identity).to_dict()


def rerank(
    bundle: Bundle,
    body: Mapping[str, Any],
    limits: Limits,
    budget_ms: float | None = None,
    *,
    version: str = "",
) -> Answer:
    """Score the caller's texts in the formats that existing clients expect; see `rank`.

    `texts` come from clients of TEI, which get a bare list that cannot say what was left out.
    `documents` come from clients of Cohere and Jina, which get an object that suits both and names
    the `version` of Cohere's API. Scores are the bundle's own: higher is better, and they are not
    probabilities.
    """
    fields = Request(Route.RERANK, body, limits).rest()
    of_tei = fields["texts"] is not None
    if of_tei and fields["documents"] is not None:
        raise RequestError(422, "give either 'texts' or 'documents', not both")
    texts = fields["texts" if of_tei else "documents"]
    if texts is None:
        raise RequestError(422, "'documents' must be a list of at least one document, not null")
    with_text = fields["return_text"] or fields["return_documents"]
    k = min(len(texts), *(fields[each] or len(texts) for each in ("top_k", "top_n")))
    pipeline = fields["pipeline"]
    ranking = bundle.rank(fields["query"], texts, k=k, pipeline=pipeline, budget_ms=budget_ms)
    if not fields["truncate"] and ranking.truncated:
        raise _too_long(*max(ranking.truncated.items(), key=lambda item: item[1]))
    room = Room(limits.answer_bytes)

    def result(hit: Hit) -> dict[str, Any]:
        text = {"text": texts[hit.index]["text"]} if with_text else {}
        if of_tei:
            return {"index": hit.index, "score": hit.score, **text}
        document = {"document": text} if text else {}
        return {"index": hit.index, "relevance_score": hit.score, **document}

    results = [room.fit(result(hit)) for hit in ranking]
    if of_tei:
        return Answer(results, ranking.timings, ranking.left_out)
    # Nothing is metered here, but clients of Jina need `usage` and those of Cohere `meta`.
    meta: dict[str, Any] = {"billed_units": {"search_units": 0}}
    if version:
        meta["api_version"] = {"version": version}
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    model = fields["model"] or DEFAULT_MODEL
    reply = {"model": model, "results": results, "usage": usage, "meta": meta}
    return Answer(reply | _budget_fields(ranking), ranking.timings, ranking.left_out)


def embeddings(
    bundle: Bundle, body: Mapping[str, Any], limits: Limits, budget_ms: float | None = None
) -> Answer:
    """Encode texts by a dense encoder in the format of OpenAI; see `rank`.

    Raises:
        OutOfTimeError: the budget was spent before all texts were encoded.
    """
    fields = Request(Route.EMBEDDINGS, body, limits).rest()
    found = _encoded(bundle, fields, "input", fields["input_type"], limits, budget_ms)
    vectors = _dense(found)
    _check_dimensions(found, vectors.shape[1], fields["dimensions"])
    room, form = Room(limits.answer_bytes, FEWER), fields["encoding_format"]
    room.take(vectors.size * (5 if form == "base64" else 2))
    written: list[Any]
    if form == "base64":
        written = [b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    else:
        written = _numbers(vectors)
    data = [
        {"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(written)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}  # nothing is metered
    return Answer({"object": "list", "data": data, "model": found.ranker, "usage": usage})


def embed(
    bundle: Bundle,
    body: Mapping[str, Any],
    limits: Limits,
    budget_ms: float | None = None,
    *,
    sparse: bool = False,
) -> Answer:
    """Encode texts by a dense or a sparse encoder in the format of TEI; see `embeddings`."""
    fields = Request(Route.EMBED, body, limits).rest()
    role: Role = "query" if fields["prompt_name"] == "query" else "document"
    found = _encoded(bundle, fields, "inputs", role, limits, budget_ms)
    if found.cut and not fields["truncate"]:
        raise _too_long(found.ranker, len(found.cut))
    room = Room(limits.answer_bytes, FEWER)
    if sparse:
        rows = [row for row in found.vectors if isinstance(row, SparseQuery)]
        if len(rows) != len(found.vectors):
            raise RequestError(422, f"{found.ranker!r} is no sparse encoder; ask /embed")
        room.take(sum(len(row.terms) for row in rows) * len('{"index":1,"value":1},'))
        pairs = (zip(row.terms.tolist(), _numbers(row.weights), strict=True) for row in rows)
        return Answer([[{"index": term, "value": each} for term, each in row] for row in pairs])
    vectors = _dense(found)
    room.take(vectors.size * 2)
    if fields["normalize"]:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = (vectors / np.where(lengths, lengths, 1)).astype(np.float32)
    return Answer(_numbers(vectors))


def models(bundle: Bundle) -> dict[str, Any]:
    """Return the rankers that encode texts, in the format of OpenAI."""
    from ranklet.runtime.rankers.encoding import encoders

    return {"object": "list", "data": [_model(name) for name in encoders(bundle.files)]}


def model(bundle: Bundle, name: str) -> dict[str, Any]:
    """Return one of the rankers that encode texts, in the format of OpenAI.

    Raises:
        RequestError: 404: there is none of the name.
    """
    from ranklet.runtime.rankers.encoding import encoders

    known = encoders(bundle.files)
    if name not in known and not (name == DEFAULT_MODEL and known):
        listed = f"the models are {', '.join(known)}" if known else "no ranker here encodes texts"
        raise RequestError(404, f"unknown model {name[:100]!r}; {listed}")
    return _model(name)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ranklet"}


def _check_dimensions(found: "EncodedTexts", have: int, wanted: int | None) -> None:
    """Raise RequestError (422) if vectors of another length are wanted than the encoder returns."""
    if wanted not in (None, have):
        raise RequestError(
            422,
            f"'dimensions' is {wanted:,}, and {found.ranker!r} returns {have:,} numbers per text; "
            "a Matryoshka model is cut when it is built, by `--dimension`",
        )


def _too_long(ranker: str, count: int) -> RequestError:
    return RequestError(
        413, f"'truncate' is false, and {count:,} texts are longer than {ranker!r} reads"
    )


def _encoded(
    bundle: Bundle,
    fields: Mapping[str, Any],
    name: str,
    role: Role,
    limits: Limits,
    budget_ms: float | None,
) -> "EncodedTexts":
    ranker = None if fields["model"] == DEFAULT_MODEL else fields["model"]
    _check_together(name, fields[name], limits.encoded_characters)
    from ranklet.runtime.rankers.encoding import encode

    return encode(bundle.files, fields[name], role, ranker, Deadline(budget_ms))


def _check_together(name: str, texts: Sequence[str], most: int) -> None:
    """Raise RequestError (413) if texts take longer to encode than a request may; one never does.

    An encoder reads the beginning of a text only, so a long one takes no longer than others.
    """
    ends = list(accumulate(map(len, texts)))
    if len(texts) > 1 and ends[-1] > most:
        fit = max(1, bisect_right(ends, most))
        raise RequestError(
            413,
            f"{name!r} has {len(texts):,} texts of {ends[-1]:,} characters, and at most {most:,} "
            f"characters are encoded per request; its first {fit:,} texts fit, so send so many "
            "at a time",
        )


def _dense(found: "EncodedTexts") -> NDArray[np.float32]:
    if isinstance(found.vectors, np.ndarray):
        return found.vectors
    other = "ask /embed_sparse" if isinstance(found.vectors[0], SparseQuery) else "it ranks"
    raise RequestError(422, f"{found.ranker!r} does not return one vector per text; {other}")


def _numbers(values: NDArray[np.float32]) -> list[Any]:
    """Return numbers for JSON, without the digits that 32 bits do not have."""
    return list(np.round(values.astype(np.float64), DIGITS).tolist())


def info(bundle: Bundle, limits: Limits, *, examples: bool = True) -> dict[str, Any]:
    """Return what a caller may use: documents, rankers, pipelines, example queries, limits.

    Args:
        bundle: what ranks.
        limits: the largest values.
        examples: whether titles are read for example queries.
    """
    manifest = bundle.manifest
    count, passages = len(bundle), bundle.passages
    tried = example_queries(bundle.sample_texts(SAMPLES)) if count and examples else []
    return {
        "documents": count,
        **({"passages": passages} if passages else {}),
        "metadata": dict(bundle.metadata),
        "rankers": {name: entry.kind for name, entry in manifest.rankers.items()},
        "pipelines": {name: str(stages) for name, stages in manifest.pipelines.items()},
        "default_pipeline": manifest.default_pipeline,
        "examples": tried,
        "limits": asdict(limits),
    }


def write_hit(bundle: Bundle, hit: Hit, room: Room) -> dict[str, Any]:
    """Return all of a hit: its texts, its explanation, and its highlights."""
    return {**room.fit(hit.to_dict()), "highlights": _highlights(bundle, hit, room)}


def _highlights(bundle: Bundle, hit: Hit, room: Room) -> dict[str, list[dict[str, Any]]]:
    """Return spans of the title and of the text, in code points, each with its share of the score.

    Title and text are ranked as one string, one line each.
    """
    spans: dict[str, list[dict[str, Any]]] = {"title": [], "text": []}
    if hit.explanation is None:
        return spans
    text_begins = len(hit.title) + 1
    try:
        found = bundle.highlight(hit, room.left // _SPAN_BYTES)
    except TooManySpansError as error:
        raise room.full() from error
    room.take(len(found) * _SPAN_BYTES)
    for span in found:
        part, shift = ("text", text_begins) if span.begin >= text_begins else ("title", 0)
        begin, end = span.begin - shift, span.end - shift
        spans[part].append({"begin": begin, "end": end, "value": span.value})
    return spans


def _budget_fields(ranking: Ranking) -> dict[str, Any]:
    """Return the fields that a reply has only if the budget was spent."""
    if not ranking.budget_spent:
        return {}
    return {"budget_spent": True, "left_out": list(ranking.left_out)}


ANSWERS: dict[str, Callable[[Bundle, Mapping[str, Any], Limits, float | None], Answer]] = {
    "/rank": rank,
    "/explain": explain,
    "/complete": complete,
    "/context": context,
    "/rerank": rerank,
    "/v1/rerank": partial(rerank, version="1"),
    "/v2/rerank": partial(rerank, version="2"),
    "/v1/embeddings": embeddings,
    "/embed": embed,
    "/embed_sparse": partial(embed, sparse=True),
}
