"""Requests over HTTP and to Lambda, settings of a server, and calls from Python."""

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.requests import Request
from tests.journeys.bad_inputs.files import file
from tests.journeys.bad_inputs.running import Case, Place, Response, python, raised_at, request

import ranklet
from ranklet import runtime
from ranklet.corpus.building.default_fusion import FusionOptions
from ranklet.corpus.collections.collection import Collection, Document, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.collections.trec import read_run, write_qrels, write_run
from ranklet.corpus.errors import BuildError
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.update import update
from ranklet.export.build import build
from ranklet.export.bundles import export_bundle
from ranklet.export.learning.options import LearnOptions
from ranklet.export.options import ExportOptions
from ranklet.handlers.api.answers import ANSWERS
from ranklet.handlers.api.errors import failure
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import parse
from ranklet.handlers.aws import log_line
from ranklet.handlers.aws.function import Function
from ranklet.handlers.server.request_body import Bodies
from ranklet.handlers.server.settings import ServerSettings
from ranklet.handlers.server.shared_counts import SharedCounts
from ranklet.runtime.errors import (
    BundleError,
    CollectionError,
    InputError,
    RankletError,
    UnknownDocumentError,
    UnknownRankerError,
)
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.bm25.training import train as train_bm25
from ranklet.training.rankers.model1.options import Options as Model1Options
from ranklet.training.rankers.tk.options import Options as TKOptions
from ranklet.training.rankers.tk.options import TKNetwork

LIMITS = Limits()


def body(name: str, path: str, sent: Any, status: int, words: str) -> Case:
    """Return a case of a body, which is bytes or will be JSON."""

    def ask(place: Place) -> Any:
        data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        return ANSWERS[path](runtime.load(place.bundle), parse(data), LIMITS, None)

    return request("requests", name, status, words, ask)


def headers(name: str, status: int, words: str, **sent: str) -> Case:
    """Return a case of an HTTP request's headers; `_` in their names stands for a hyphen."""

    def ask(place: Place) -> Any:
        raw = [(key.replace("_", "-").encode(), value.encode()) for key, value in sent.items()]

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"{}" * LIMITS.body_bytes, "more_body": False}

        with Bodies(SharedCounts(), 10**9).body() as body:
            asked = Request({"type": "http", "headers": raw}, receive)
            return asyncio.run(body.read(asked, LIMITS))

    return request("requests", name, status, words, ask)


def event(name: str, status: int, words: str, sent: Any) -> Case:
    """Return a case of a direct event of Lambda."""

    class Context:
        aws_request_id = "a-request"

        def get_remaining_time_in_millis(self) -> int:
            return 60_000

    def ask(place: Place) -> Any:
        function = Function({"AWS_LAMBDA_FUNCTION_NAME": "search"})
        function._bundle = runtime.load(place.bundle)
        places = []

        def recorded(error: BaseException) -> Any:  # callers get the error without its frames
            places.append(raised_at(error))
            return failure(error)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(log_line, "failure", recorded)
            try:
                return function(sent, Context())
            except RankletError as error:
                refused, answer = failure(error)
                return Response(refused, answer["error"], (places or [raised_at(error)])[0])

    return request("events of Lambda", name, status, words, ask)


def setting(name: str, words: str, **variables: str) -> Case:
    """Return a case of a server's environment variables."""
    return python(
        "settings of a server", name, InputError, words,
        lambda place: ServerSettings.from_environment(
            {"RANKLET_BUNDLE": str(place.bundle), **variables}
        ),
    )  # fmt: skip


def ranking(name: str, kind: type[Exception], words: str, *given: Any, **options: Any) -> Case:
    """Return a case of `Bundle.rank`."""
    return python(
        "calls from Python", name, kind, words,
        lambda place: runtime.load(place.bundle).rank(*given, **options),
    )  # fmt: skip


def call(name: str, kind: type[Exception], words: str, act: Any) -> Case:
    return python("calls from Python", name, kind, words, act)


def rerank(documents: Any, **more: Any) -> Mapping[str, Any]:
    return {"query": "dough", "documents": documents, **more}


REQUESTS = [
    body("nothing is sent", "/rank", b"", 400, "not JSON"),
    body("the body is not UTF-8", "/rank", b"\xff", 400, "not UTF-8"),
    body("the body is cut off", "/rank", b'{"query": "dou', 400, "not JSON"),
    body("the body is nested without end", "/rank", b"[" * 100_000, 400, "not JSON"),
    body("a number is NaN", "/rank", b'{"query": "x", "k": NaN}', 400, "NaN is not JSON"),
    body("the body is a list", "/rank", ["dough"], 400, "must be a JSON object"),
    body("the query is missing", "/rank", {}, 422, "'query' is missing"),
    body("the query is blank", "/rank", {"query": " \n"}, 422, "'query' is empty"),
    body("the query is a number", "/rank", {"query": 7}, 422, "must be a string"),
    body("the query has a megabyte", "/rank", {"query": "a" * 1_000_000}, 413, "1,000,000 char"),
    body("k is a string", "/rank", {"query": "x", "k": "5"}, 422, "a whole number, not a string"),
    body("k is true", "/rank", {"query": "x", "k": True}, 422, "not a boolean"),
    body("k is a fraction", "/rank", {"query": "x", "k": 1.5}, 422, "a whole number"),
    body("k is negative", "/rank", {"query": "x", "k": -1}, 422, "from 0 to"),
    body("k has 4,000 digits", "/rank", {"query": "x", "k": 10**4000}, 422, "from 0 to"),
    body("too many explanations", "/rank", {"query": "x", "k": 101, "explain": True}, 422, "100"),
    body("explain is a word", "/rank", {"query": "x", "explain": "yes"}, 422, "true or false"),
    body("the pipeline is unknown", "/rank", {"query": "x", "pipeline": "y"}, 404, "unknown pipe"),
    body("the pipeline is a recipe", "/rank", {"query": "x", "pipeline": [{}]}, 422, "a string"),
    body("a field is unknown", "/rank", {"query": "x", "pipline": "y"}, 422, "did you mean"),
    body("hits are filtered", "/rank", {"query": "x", "filter": {"y": 1}}, 422, "called 'where'"),
    body("the filter is a word", "/rank", {"query": "x", "where": "y"}, 422, "an object"),
    body("the filter has no field", "/rank", {"query": "x", "where": {"y": 1}}, 422, "no metadata"),
    body("the offset is negative", "/rank", {"query": "x", "offset": -1}, 422, "from 0 to"),
    body("the least score is a word", "/rank", {"query": "x", "min_score": "1"}, 422, "a number"),
    body("the group is unknown", "/rank", {"query": "x", "group_by": "y"}, 422, "no metadata"),
    body("a budget is sent", "/rank", {"query": "x", "budget_ms": -1}, 422, "unknown field"),
    body("the id is missing", "/explain", {"query": "x"}, 422, "'id' is missing"),
    body("the id is unknown", "/explain", {"query": "x", "id": "nobody"}, 404, "unknown document"),
    body("k documents are explained", "/explain", {"query": "x", "id": "y", "k": 2}, 422, "'k'"),
    body("no document is sent", "/rerank", rerank([]), 422, "not an empty list"),
    body("the documents are a string", "/rerank", rerank("dough"), 422, "must be a list"),
    body("a document is a number", "/rerank", rerank(["a", 1]), 422, "documents[1] must be"),
    body("a document has no text", "/rerank", rerank([{"body": "x"}]), 422, "documents[0] must be"),
    body("a document's id is half", "/rerank", rerank([{"text": "x", "id": 0.5}]), 422, "'id'"),
    body("texts and documents", "/rerank", rerank(["a"], texts=["a"]), 422, "not both"),
    body("1,001 documents", "/rerank", rerank(["a"] * 1001), 413, "1,001 documents"),
    body("two megabytes of text", "/rerank", rerank(["a" * 2_000_001]), 413, "2,000,001 char"),
    body("no hit is wanted", "/v1/rerank", rerank(["a"], top_n=0), 422, "from 1"),
    body("fields are ranked", "/v1/rerank", rerank(["a"], rank_fields=["x"]), 422, "not supported"),
    body("texts are cut", "/v2/rerank", rerank(["a"], max_tokens_per_doc=9), 422, "not supported"),
    body("texts lose their beginning", "/rerank",
         {"query": "x", "texts": ["a"], "truncation_direction": "Left"}, 422, "must be 'right'"),
    headers("the content type is missing", 415, "must be JSON"),
    headers("a form is sent", 415, "must be JSON", content_type="text/plain"),
    headers("another encoding", 415, "UTF-8", content_type="application/json; charset=latin-1"),
    headers("the body is compressed", 415, "compressed", content_type="application/json",
            content_encoding="gzip"),
    headers("the body is too large", 413, "bytes", content_type="application/json"),
    event("the event is a list", 400, "must be a JSON object", [{"query": "x"}]),
    event("the event is empty", 422, "'query' is missing", {}),
    event("the action is unknown", 422, "'action' must be", {"query": "x", "action": "drop"}),
    event("a field is unknown", 422, "unknown field 'fliter'", {"query": "x", "fliter": 1}),
    event("records of a queue", 400, "not served", {"Records": [{"eventSource": "aws:sqs"}]}),
    setting("the bundle is not named", "RANKLET_BUNDLE", RANKLET_BUNDLE=""),
    setting("the port is a word", "PORT is 'http'", PORT="http"),
    setting("the port is too large", "PORT", PORT="99999"),
    setting("no process", "RANKLET_WORKERS", RANKLET_WORKERS="0"),
    setting("a limit is negative", "RANKLET_MAX_K", RANKLET_MAX_K="-1"),
    setting("a check is unknown", "RANKLET_CHECK", RANKLET_CHECK="maybe"),
]  # fmt: skip

CALLS = [
    ranking("the query is no text", InputError, "must be a string", 7),
    ranking("the query is empty", InputError, "is empty", ""),
    ranking("k is a string", InputError, "k must be", "dough", k="5"),
    ranking("k is true", InputError, "k must be", "dough", k=True),
    ranking("the budget is NaN", InputError, "budget_ms", "dough", budget_ms=math.nan),
    ranking("the budget is negative", InputError, "budget_ms", "dough", budget_ms=-1),
    ranking("the documents are one text", InputError, "must be a list", "dough", "a text"),
    ranking("a document is a number", InputError, "documents[0]", "dough", [1]),
    ranking("a document has no text", InputError, "documents[0]", "dough", [{"body": "x"}]),
    ranking("the pipeline is unknown", UnknownRankerError, "unknown pipeline", "x", pipeline="y"),
    ranking("the pipeline is a number", InputError, "pipeline", "x", pipeline=3),
    call("no bundle is there", BundleError, "no bundle",
         lambda place: runtime.load(place.folder / "nothing")),
    call("a device is unknown", InputError, "device",
         lambda place: runtime.load(place.bundle, device="tpu")),
    call("a check is unknown", InputError, "check",
         lambda place: runtime.load(place.bundle, check="maybe")),  # type: ignore[arg-type]
    call("texts and ids are scored", InputError, "either documents",
         lambda place: runtime.load(place.bundle).score("x", ["a"], ids=["b"])),
    call("an unknown id is scored", UnknownDocumentError, "unknown document",
         lambda place: runtime.load(place.bundle).score("x", ids=["nobody"])),
    call("an id is a number", InputError, "must be a string",
         lambda place: runtime.load(place.bundle).explain("x", 3)),  # type: ignore[arg-type]
    call("a list of queries is one text", InputError, "must be a list",
         lambda place: runtime.load(place.bundle).rank_batch("dough")),
    call("no text is built", CollectionError, "no document",
         lambda place: build([], place.out)),
    call("a text is a number", CollectionError, "cannot be used",
         lambda place: build([3], place.out)),  # type: ignore[list-item]
    call("texts are one text", InputError, "list",
         lambda place: ranklet.build(b"x", place.out)),  # type: ignore[arg-type]
    call("the bundle is loaded already", InputError, "give its path to open it anew",
         lambda place: runtime.load(runtime.load(place.bundle), device="cpu")),
    call("the models are a number", InputError, "models must be a list",
         lambda place: build(["a text"], place.out, models=7)),
    call("an option has another name", InputError, "no option 'model'; did you mean models",
         lambda place: build(["a text"], place.out, model="models/minilm")),
    call("the target is no path", InputError, "must be a path, not NoneType",
         lambda place: build(["a text"], None)),  # type: ignore[arg-type]
    call("the target is empty", InputError, "empty", lambda place: build(["a text"], "")),
    call("the options are a dict", InputError, "SourceOptions",
         lambda place: build(["a text"], place.out, source={"format": "csv"})),
    call("the engine is a text", InputError, "EngineOptions",
         lambda place: build(["a text"], place.out, engine="ray")),
    call("the fusion is a text", InputError, "FusionOptions",
         lambda place: build(["a text"], place.out, fusion="ranks")),
    call("an export without models", InputError, "no effect without models",
         lambda place: build(["a text"], place.out, export=ExportOptions())),
    call("a source gets options", InputError, "leave options out",
         lambda place: build(Source(["a text"]), place.out, source=SourceOptions())),
    call("options without documents", InputError, "no documents to add",
         lambda place: update(place.bundle, delete=["1"], options=SourceOptions())),
    call("columns are a list", InputError, "must be a string",
         lambda place: SourceOptions(metadata=["year"])),  # type: ignore[arg-type]
    call("a path is indexed", InputError, "give Source",
         lambda place: index_bundle(place.bundle, "corpus.csv", place.out)),  # type: ignore[arg-type]
    call("a path is exported", InputError, "Checkpoint",
         lambda place: export_bundle({"a": "folder"}, place.out)),  # type: ignore[dict-item]
    call("a weight is a text", InputError, "the weight of 'a'",
         lambda place: FusionOptions(weights={"a": "1"})),  # type: ignore[dict-item]
    call("the variants are one text", InputError, "must be a list",
         lambda place: ExportOptions(variants="int8")),  # type: ignore[arg-type]
    call("BM25 is a path", InputError, "BM25Settings",
         lambda place: Model1Options(bm25="bm25")),  # type: ignore[arg-type]
    call("an option has no effect", InputError, "--regions has no effect",
         lambda place: TKOptions(network=TKNetwork(regions=2))),
    call("the target is a file", BuildError, "exists",
         lambda place: build(["a text"], file("out", "precious")(place))),
    call("a variant is unknown", InputError, "fp8", lambda place: ExportOptions(variants=("fp8",))),
    call("the size is NaN", InputError, "max_mb", lambda place: ExportOptions(max_mb=math.nan)),
    call("documents of a collection are objects", InputError, "collection.Document",
         lambda place: write_collection(place.out, [{"id": "a"}], {})),  # type: ignore[list-item]
    call("a grade has a fraction", CollectionError, "expected an integer",
         lambda place: write_qrels(place.folder / "q", {"q": {"a": 0.5}})),  # type: ignore[dict-item]
    call("hits of a run are an object", InputError, "best first",
         lambda place: write_run(place.folder / "run", {"q": {"d1": 1.0}}, "x")),  # type: ignore[dict-item]
    call("a split of a path", InputError, "collection.Collection",
         lambda place: read_split(place.collection, "train")),
    call("no query to tune on", InputError, "at least one",
         lambda place: train_bm25(Collection(place.collection), [], [], BM25Options())),
    call("a lexical learning has a model", InputError, "leave it out",
         lambda place: LearnOptions(lexical=True, model="x")),
    call("more queries than none", InputError, "above 0",
         lambda place: read_split(Collection(place.collection), "train", limit=0)),
    call("a document's id has a tab", CollectionError, "without tabs",
         lambda place: write_collection(place.out, [Document("a\tb", "", "x")], {})),
    call("a collection is not replaced", CollectionError, "already exists",
         lambda place: write_collection(place.collection, [], {})),
    call("a run's score is NaN", CollectionError, "finite number",
         lambda place: read_run(file("a.run", "q Q0 a 1 nan x\n")(place))),
]  # fmt: skip
