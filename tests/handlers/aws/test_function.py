"""A Lambda function in this process: every event's shape, as recorded, and what goes wrong."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.aws import events as aws_events
from ranklet.handlers.aws import function as aws_function
from ranklet.handlers.aws import sqs as aws_queue
from ranklet.handlers.aws.function import Function, InternalError
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError, UnknownRankerError
from ranklet.runtime.hits import Hit, Ranking

EVENTS = Path(__file__).parent.parent / "events"
HTTP_EVENTS = ("rest", "http", "function_url", "alb", "alb_multi_value")
ASKED = {"query": "how long to knead dough with water", "k": 3}


@dataclass
class Context:
    aws_request_id: str = "a-request"
    left_ms: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return found


def with_body(name: str, body: Any, path: str = "/rank", method: str = "POST") -> dict[str, Any]:
    event = recorded(name)
    text = body if isinstance(body, str | None) else json.dumps(body)
    event |= {"body": text, "isBase64Encoded": False}
    if name in ("http", "function_url"):
        event["rawPath"] = path
        event["requestContext"]["http"]["method"] = method
    else:
        event |= {"path": path, "httpMethod": method}
    return event


@pytest.fixture
def function(built: Built, monkeypatch: pytest.MonkeyPatch) -> Function:
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.fused))
    made = Function({"AWS_LAMBDA_FUNCTION_NAME": "search"})
    made.load(must=True)
    return made


@pytest.fixture
def wanted(bundle: Bundle) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in bundle.rank(ASKED["query"], k=3)]  # type: ignore[arg-type]


def lines(capsys: pytest.CaptureFixture[str], message: str = "request") -> list[dict[str, Any]]:
    parsed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in parsed if line["message"] == message]


def answered(reply: dict[str, Any], status: int = 200) -> Any:
    assert reply["statusCode"] == status, reply
    assert reply["isBase64Encoded"] is False
    return json.loads(reply["body"])


def got(body: Any) -> list[tuple[str, float]]:
    return [(hit["id"], hit["score"]) for hit in body["hits"]]


@pytest.mark.parametrize("name", HTTP_EVENTS)
def test_every_http_shape_is_answered_in_kind(
    function: Function, wanted: list[tuple[str, float]], name: str
) -> None:
    reply = function(recorded(name), Context())
    assert got(answered(reply)) == wanted
    single = {"content-type": "application/json", "cache-control": "no-store"}
    if name == "alb_multi_value":
        assert reply["multiValueHeaders"] == {key: [value] for key, value in single.items()}
        assert "headers" not in reply
    else:
        assert reply["headers"] == single
    assert ("statusDescription" in reply) == name.startswith("alb")


def test_a_direct_event_is_answered_with_the_object(
    function: Function, wanted: list[tuple[str, float]]
) -> None:
    assert got(function(ASKED, Context())) == wanted
    texts = function({"action": "rerank", "query": "dough", "texts": ["x", "dough"]}, Context())
    assert [each["index"] for each in texts] == [1, 0]
    explained = {"action": "explain", "query": "knead dough", "id": wanted[0][0]}
    assert function(explained, Context())["explanation"]["parts"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/rank", "/rank"),
        ("/rank/", "/rank"),
        ("/prod/rank", "/rank"),
        ("/search/v1/rank", "/rank"),
        ("/v1/rerank", "/v1/rerank"),
        ("/prod/v2/rerank", "/v2/rerank"),
        ("/healthz", "/healthz"),
    ],
)
def test_a_stage_or_base_path_may_stand_before_a_path(path: str, found: str) -> None:
    assert aws_function._known(path) == found


def test_rerank_answers_in_the_shapes_of_its_clients(function: Function) -> None:
    body = {"model": "any", "query": "dough", "documents": ["windows", "dough"], "top_n": 1}
    cohere = answered(function(with_body("http", body, "/v2/rerank"), Context()))
    assert [each["index"] for each in cohere["results"]] == [1]
    assert cohere["meta"]["api_version"] == {"version": "2"}
    tei = {"query": "dough", "texts": ["windows", "dough"]}
    assert answered(function(with_body("rest", tei, "/rerank"), Context()))[0]["index"] == 1


@pytest.mark.parametrize("name", ["rest", "http", "alb"])
def test_health_is_asked_by_get(function: Function, name: str) -> None:
    for path in ("/healthz", "/readyz"):
        reply = function(with_body(name, None, path, "GET"), Context())
        assert answered(reply) == {"status": "ok"}


@pytest.mark.parametrize("name", ["rest", "http", "alb"])
@pytest.mark.parametrize(
    ("body", "path", "method", "status", "told"),
    [
        ("no JSON", "/rank", "POST", 400, "not JSON"),
        (None, "/rank", "POST", 400, "not JSON"),
        ("[1]", "/rank", "POST", 400, "must be a JSON object"),
        ("\ud800", "/rank", "POST", 400, "not UTF-8"),
        ('{"query": NaN}', "/rank", "POST", 400, "NaN is not JSON"),
        ({}, "/rank", "POST", 422, "'query' is missing"),
        ({"query": "  "}, "/rank", "POST", 422, "'query' is empty"),
        ({"query": "x", "k": -1}, "/rank", "POST", 422, "'k' must be"),
        ({"query": "x", "pipeline": "none"}, "/rank", "POST", 404, "unknown pipeline"),
        ({"query": "x", "id": "none"}, "/explain", "POST", 404, "none"),
        ({"query": "x" * 10_001}, "/rank", "POST", 413, "10,001 characters"),
        ({"query": "x", "texts": ["x"] * 1001}, "/rerank", "POST", 413, "1,001 documents"),
        ({"query": "x", "y": "y" * (4 << 20)}, "/rank", "POST", 413, "the body has"),
        (ASKED, "/", "POST", 404, "there are /rank, /explain"),
        (ASKED, "/../etc/passwd", "POST", 404, "no such path"),
        (None, "/rank", "GET", 405, "/rank takes POST, not GET"),
        (None, "/rank", "", 405, "/rank takes POST"),
        (ASKED, "/healthz", "POST", 405, "/healthz takes GET"),
    ],
)
def test_a_client_error_is_told_in_json_and_raises_nothing(
    function: Function, name: str, body: Any, path: str, method: str, status: int, told: str
) -> None:
    reply = function(with_body(name, body, path, method), Context())
    error = answered(reply, status)
    assert told in error["error"]
    assert set(error) == {"error", "error_type"}
    assert "Traceback" not in reply["body"]
    assert ("allow" in reply["headers"]) == (status == 405)


def test_a_body_that_is_not_base64_is_told(function: Function) -> None:
    event = recorded("function_url") | {"body": "§§§"}
    assert "not base64" in answered(function(event, Context()), 400)["error"]
    event = recorded("http") | {"body": {"query": "an object"}}
    assert "must be a string" in answered(function(event, Context()), 400)["error"]


@pytest.mark.parametrize(
    ("event", "kind", "told"),
    [
        ("text", RequestError, "the event must be a JSON object, not str"),
        ([ASKED], RequestError, "not list"),
        (None, RequestError, "not NoneType"),
        ({}, RequestError, "'query' is missing"),
        ({"query": ""}, RequestError, "'query' is empty"),
        ({"query": "x", "action": "drop"}, RequestError, "'action' must be one of rank, explain"),
        ({"query": "x", "action": ["rank"]}, RequestError, "'action' must be one of"),
        ({"query": "x", "pipeline": "none"}, UnknownRankerError, "unknown pipeline 'none'"),
        ({"Records": []}, RequestError, "are not served"),
        ({"Records": [1]}, RequestError, "are not served"),
    ],
)
def test_a_wrong_direct_event_raises_what_its_caller_can_read(
    function: Function, event: Any, kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told) as caught:
        function(event, Context())
    assert caught.value.__cause__ is None


def test_records_of_another_service_are_refused(function: Function) -> None:
    with pytest.raises(RequestError, match=r"records of .'aws:s3'. are not served; SQS's are"):
        function(recorded("s3"), Context())


def broken(*_: Any, **__: Any) -> Any:
    raise OSError("/srv/secret/path")


def test_a_fault_of_ours_is_logged_and_not_told(
    function: Function, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Bundle, "rank", broken)
    reply = function(recorded("http"), Context())
    assert answered(reply, 500)["error_type"] == "internal"
    assert "secret" not in json.dumps(reply)
    with pytest.raises(InternalError, match="internal error") as caught:
        function(ASKED, Context())
    assert "secret" not in str(caught.value)
    found = lines(capsys)
    assert [line["severity"] for line in found] == ["ERROR", "ERROR"]
    assert all("/srv/secret/path" in line["exception"] for line in found)
    assert all(line["Faults"] == 1 for line in found)


def test_a_score_that_is_not_finite_never_leaves(
    function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Ranking((Hit("a", float("nan"), "", "text", 0),), "query", ())
    monkeypatch.setattr(Bundle, "rank", lambda *_, **__: wrong)
    assert answered(function(recorded("http"), Context()), 500)["error_type"] == "internal"
    with pytest.raises(InternalError):
        function(ASKED, Context())


def test_every_request_leaves_one_line_that_is_its_metrics(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    function(recorded("rest"), Context("first"))
    function(ASKED, Context("second"))
    with pytest.raises(RequestError):
        function({}, Context("third"))
    first, second, third = lines(capsys)
    assert (first["request_id"], first["cold_start"], first["ColdStarts"]) == ("first", True, 1)
    assert (second["cold_start"], second["ColdStarts"], second["shape"]) == (False, 0, "direct")
    assert (third["severity"], third["status"], third["ClientErrors"]) == ("WARNING", 422, 1)
    assert "exception" not in third
    assert next(iter(first["stages"])).startswith("retrieve")
    assert first["Duration"] >= sum(first["stages"].values()) > 0
    (directive,) = first["_aws"]["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["function"]]
    assert first["function"] == "search"
    for metric in directive["Metrics"]:
        assert isinstance(first[metric["Name"]], int | float)


def test_the_time_that_is_left_is_the_budget(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    body = answered(function(with_body("http", ASKED), Context(left_ms=150)))
    assert body["budget_spent"] is True
    assert body["left_out"] == ["rescore by model1", "rescore by model1_pieces"]
    assert len(body["hits"]) == 3
    assert lines(capsys)[-1]["LeftOut"] == 2
    assert "left_out" not in answered(function(with_body("http", ASKED), Context()))
    assert function._budget_ms(Context(left_ms=0)) == 0
    assert function._budget_ms(Context(left_ms=1000)) == 800
    assert function._budget_ms(Context(left_ms=900_000)) == 30_000  # the limit of a request


@pytest.fixture
def small_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_events, "MOST_BYTES", 900)
    monkeypatch.setattr(aws_events, "MOST_ALB_BYTES", 800)


@pytest.mark.usefixtures("small_replies")
@pytest.mark.parametrize("name", HTTP_EVENTS)
def test_an_answer_past_lambdas_limit_is_a_413(function: Function, name: str) -> None:
    long = {**ASKED, "k": 40}
    error = answered(function(with_body(name, long), Context()), 413)
    assert "ask for fewer hits" in error["error"]
    short = {**ASKED, "k": 1, "return_documents": False}
    assert len(answered(function(with_body(name, short), Context()))["hits"]) == 1
    with pytest.raises(RequestError, match="the answer has"):
        function(long, Context())


def test_the_limit_counts_bytes_as_the_runtime_client_writes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aws_events, "MOST_BYTES", 60)
    reply = {"body": "ü" * 20}
    with pytest.raises(RequestError, match="132 bytes, and 60"):  # each as \u00fc
        aws_events.check_size(reply, "http", 20)
    for runtime in ("AWS_Lambda_python3.12", "AWS_Lambda_python3.14"):
        monkeypatch.setenv("AWS_EXECUTION_ENV", runtime)
        aws_events.check_size(reply, "http", 20)
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_Lambda_python3.11")
    with pytest.raises(RequestError):
        aws_events.check_size(reply, "http", 20)


class Written(aws_queue.Results):
    """Results that are kept here."""

    def __init__(self) -> None:
        super().__init__("s3://bucket/prefix")
        self.found: dict[str, Any] = {}

    def put(self, message: str, answer: str) -> None:
        self.found[message] = json.loads(answer)


@pytest.fixture
def written(function: Function, monkeypatch: pytest.MonkeyPatch) -> Written:
    made = Written()
    monkeypatch.setattr(function, "_results", made)
    return made


def failed(reply: dict[str, Any]) -> list[str]:
    return [each["itemIdentifier"][0] for each in reply["batchItemFailures"]]


def test_only_messages_that_failed_go_back_to_the_queue(
    function: Function, written: Written, wanted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert failed(function(recorded("sqs"), Context())) == ["2"]
    ranked, reranked = written.found.values()
    assert got(ranked) == wanted
    assert reranked["results"][0]["index"] == 1
    found = lines(capsys)
    assert [line["status"] for line in found] == [200, 400, 200]
    assert [line["message_id"][0] for line in found] == ["1", "2", "3"]


def test_in_a_queue_with_an_order_all_after_a_failure_go_back(
    function: Function, written: Written
) -> None:
    event = recorded("sqs")
    for record in event["Records"]:
        record["eventSourceARN"] += ".fifo"
    assert failed(function(event, Context())) == ["2", "3"]
    assert len(written.found) == 1


def test_messages_that_there_is_no_time_for_go_back(function: Function, written: Written) -> None:
    assert failed(function(recorded("sqs"), Context(left_ms=200))) == ["1", "2", "3"]
    assert written.found == {}


def test_answers_that_would_go_nowhere_are_not_made(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(function(recorded("sqs"), Context())) == ["1", "2", "3"]
    assert "set RANKLET_RESULTS to s3://bucket/prefix" in lines(capsys)[0]["error"]


def test_time_is_shared_among_messages() -> None:
    assert list(aws_queue.Shares(lambda: 600.0, 3)) == [200.0, 300.0, 600.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RANKLET_MARGIN_MS", "-1"),
        ("RANKLET_MARGIN_MS", "1e3"),
        ("RANKLET_RESULTS", "https://bucket/prefix"),
        ("RANKLET_RESULTS", "s3:///prefix"),
        ("RANKLET_MAX_K", "many"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        Function({name: value})


def test_a_function_without_a_bundle_says_so_and_tries_again(
    built: Built, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", "/nowhere/at/all")
    function = Function({})
    function.load()
    assert "no bundle at '/nowhere/at/all'" in lines(capsys, "no bundle")[0]["error"]
    reply = function(recorded("http"), Context())
    error = answered(reply, 503)
    assert error["error_type"] == "unavailable"
    assert "nowhere" not in reply["body"]
    assert answered(function(with_body("http", None, "/readyz", "GET"), Context()), 503)
    assert answered(function(with_body("http", None, "/healthz", "GET"), Context()))
    with pytest.raises(RequestError, match="not ready"):
        function(ASKED, Context())
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.zipped))
    answered(function(recorded("http"), Context()), 503)  # not so soon
    monkeypatch.setattr(aws_function, "RETRY_SECONDS", 0)
    assert len(answered(function(recorded("http"), Context()))["hits"]) == 3


def test_a_bundle_without_documents_ranks_the_callers_own(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.exported))
    function = Function({})
    function.load()  # its lexical rankers need a collection's statistics
    assert answered(function(recorded("http"), Context()), 503)
