"""The shapes of Lambda's events, and the replies that each takes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.aws.conftest import (
    ADDRESS,
    ASKED,
    EVENTS,
    HTTP_EVENTS,
    PLACE,
    Context,
    answered,
    digest,
    got,
    left,
    lines,
    recorded,
    with_body,
)
from tests.handlers.gate import Gate
from tests.handlers.runtime_api import Function as Process
from tests.handlers.runtime_api import RuntimeAPI

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.aws import events
from ranklet.handlers.aws.events import (
    Results,
    check_size,
    failures_of,
    http_reply,
    http_request,
    shape_of,
)
from ranklet.handlers.aws.function import Function


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("rest", "rest"),
        ("http", "http"),
        ("function_url", "http"),
        ("alb", "alb"),
        ("alb_multi_value", "alb"),
        ("sqs", "sqs"),
    ],
)
def test_recorded_events_have_their_shape(name: str, shape: str) -> None:
    assert shape_of(recorded(name)) == shape


def test_any_other_object_is_direct() -> None:
    assert shape_of({}) == shape_of({"query": "dough", "version": "2.0"}) == "direct"


@pytest.mark.parametrize("event", ["text", None, [1], {"Records": []}, {"Records": [1]}])
def test_an_event_of_unknown_shape_is_refused(event: Any) -> None:
    with pytest.raises(RequestError, match=r"must be a JSON object|are not served"):
        shape_of(event)


def test_records_of_another_service_are_refused() -> None:
    with pytest.raises(RequestError, match=r"records of .'aws:s3'. are not served; SQS's are"):
        shape_of(recorded("s3"))


@pytest.mark.parametrize("name", HTTP_EVENTS)
def test_a_request_is_the_same_in_every_shape(name: str) -> None:
    event = recorded(name)
    shape = shape_of(event)
    method, path, body, _ = http_request(event, shape)
    assert (method, path.rpartition("/")[2]) == ("POST", "rank")
    assert json.loads(body) == ASKED
    reply = http_reply(event, shape, 404, "{}", allow="GET")
    assert ("multiValueHeaders" in reply) == (name == "alb_multi_value")
    headers = reply.get("headers") or {
        key: value for key, (value,) in reply["multiValueHeaders"].items()
    }
    assert headers["allow"] == "GET"
    assert reply.get("statusDescription", "404 Error") == "404 Error"


def test_a_body_that_is_not_base64_is_refused() -> None:
    event = recorded("function_url") | {"body": "§§§"}
    with pytest.raises(RequestError, match="not base64"):
        http_request(event, "http")
    event = recorded("http") | {"body": {"query": "an object"}}
    with pytest.raises(RequestError, match="must be a string"):
        http_request(event, "http")


@pytest.fixture
def small_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_BYTES", 900)
    monkeypatch.setattr(events, "MOST_ALB_BYTES", 800)


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
    monkeypatch.setattr(events, "MOST_BYTES", 60)
    reply = {"body": "ü" * 20}
    with pytest.raises(RequestError, match="132 bytes, and at most 60"):  # each as \u00fc
        check_size(reply, "http", 20, 1 << 24)
    for runtime in ("AWS_Lambda_python3.12", "AWS_Lambda_python3.14"):
        monkeypatch.setenv("AWS_EXECUTION_ENV", runtime)
        check_size(reply, "http", 20, 1 << 24)
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_Lambda_python3.11")
    with pytest.raises(RequestError):
        check_size(reply, "http", 20, 1 << 24)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the answers that are written, by message; no S3 is needed for them."""
    answers: dict[str, Any] = {}

    def put(_: Results, message: str, answer: str) -> None:
        answers[message] = json.loads(answer)

    monkeypatch.setattr(Results, "put", put)
    return answers


@pytest.fixture
def of_a_queue(built: Built, monkeypatch: pytest.MonkeyPatch) -> Function:
    """Return a function that has a place for answers."""
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.fused))
    function = Function({"RANKLET_RESULTS": "s3://bucket/prefix"})
    function.load(must=True)
    return function


def failed(reply: dict[str, Any]) -> list[str]:
    return [each["itemIdentifier"][0] for each in reply["batchItemFailures"]]


def test_only_messages_that_failed_go_back_to_the_queue(
    of_a_queue: Function, written: dict[str, Any], wanted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert failed(of_a_queue(recorded("sqs"), Context())) == ["2"]
    ranked, reranked = written.values()
    assert got(ranked) == wanted
    assert reranked["results"][0]["index"] == 1
    found = lines(capsys)
    assert [line["status"] for line in found] == [200, 400, 200]
    assert [line["message_id"][0] for line in found] == ["1", "2", "3"]


def test_in_a_queue_with_an_order_all_after_a_failure_go_back(
    of_a_queue: Function, written: dict[str, Any]
) -> None:
    event = recorded("sqs")
    for record in event["Records"]:
        record["eventSourceARN"] += ".fifo"
    assert failed(of_a_queue(event, Context())) == ["2", "3"]
    assert len(written) == 1


def test_messages_that_there_is_no_time_for_go_back(
    of_a_queue: Function, written: dict[str, Any]
) -> None:
    assert failed(of_a_queue(recorded("sqs"), Context(left_ms=200))) == ["1", "2", "3"]
    assert written == {}


def test_without_a_place_for_answers_no_message_is_answered(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(function(recorded("sqs"), Context())) == ["1", "2", "3"]
    assert "set RANKLET_RESULTS to s3://bucket/prefix" in lines(capsys)[0]["error"]


def test_time_is_shared_among_messages() -> None:
    budgets: list[float] = []

    def answer(_: Any, budget_ms: float) -> bool:
        budgets.append(budget_ms)
        return True

    records = recorded("sqs")["Records"]
    assert failures_of(records, lambda: 600.0, answer) == {"batchItemFailures": []}
    assert budgets == [200.0, 300.0, 600.0]


def test_each_message_has_its_own_answer_file(bucket: Any) -> None:
    results = Results("s3://bundles/answers/today/")
    results.put("a-message", '{"query": "é"}')
    results.close()
    results.put("../other", "{}")
    results.close()
    found = bucket.get_object(Bucket="bundles", Key="answers/today/a-message.json")
    assert found["Body"].read() == '{"query": "é"}'.encode()
    assert found["ContentType"] == "application/json"
    keys = [each["Key"] for each in bucket.list_objects_v2(Bucket="bundles")["Contents"]]
    assert keys == ["answers/today/..%2Fother.json", "answers/today/a-message.json"]


@pytest.mark.slow
def test_workers_of_a_function_share_a_download_and_write_a_queues_answers(
    bucket: Any, built: Built, tmp_path: Path
) -> None:
    pytest.importorskip("awslambdaric")
    data = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=data, Metadata={"sha256": digest(data)})
    event = (EVENTS / "sqs.json").read_bytes()
    variables = {
        "RANKLET_BUNDLE": ADDRESS,
        "RANKLET_RESULTS": "s3://bundles/answers",
        "AWS_LAMBDA_MAX_CONCURRENCY": "2",
    }
    client = Gate(tmp_path).command("awslambdaric")
    with RuntimeAPI() as api, Process(api, tmp_path, client=client, **variables) as function:
        function.wait_for("ready", 2)
        invocations = [api.send(event) for _ in range(4)]
        for each in invocations:
            (failed,) = each.answer["batchItemFailures"]
            assert failed["itemIdentifier"].startswith("22222222")
    assert left(tmp_path / f"ranklet-{os.getuid()}") == [".lock", ".zip"]
    found = bucket.list_objects_v2(Bucket="bundles", Prefix="answers/")["Contents"]
    assert [each["Key"][:16] for each in found] == ["answers/11111111", "answers/33333333"]
    answer = bucket.get_object(Bucket="bundles", Key=found[0]["Key"])["Body"].read()
    assert json.loads(answer)["hits"][0]["id"] == "bread"
