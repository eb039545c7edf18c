"""The shapes of Lambda's events, and the replies that each takes."""

import json
from typing import Any

import pytest
from tests.handlers.aws.conftest import ASKED, HTTP_EVENTS, Context, answered, recorded, with_body

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.aws import events
from ranklet.handlers.aws.events import check_size, detect_shape, http_reply, http_request
from ranklet.handlers.aws.function import Function


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("rest", "rest"),
        ("http", "http"),
        ("function_url", "http"),
        ("alb", "alb"),
        ("alb_multi_value", "alb"),
    ],
)
def test_recorded_events_have_their_shape(name: str, shape: str) -> None:
    assert detect_shape(recorded(name)) == shape


def test_any_other_object_is_direct() -> None:
    assert detect_shape({}) == detect_shape({"query": "dough", "version": "2.0"}) == "direct"


@pytest.mark.parametrize(
    "event",
    [
        "text", None, [1], {"Records": []}, {"Records": [1]}, {"Records": None, "query": "x"},
        {"Records": [{"messageId": "\ud800", "eventSource": "aws:sqs", "body": "{}"}]},
    ],
)  # fmt: skip
def test_an_event_of_unknown_shape_is_refused(event: Any) -> None:
    with pytest.raises(RequestError, match=r"must be a JSON object|are not served") as refused:
        detect_shape(event)
    assert refused.value.status == 400


def test_records_are_refused() -> None:
    with pytest.raises(RequestError, match="batches of records, such as SQS's, are not served"):
        detect_shape(recorded("s3"))


@pytest.mark.parametrize("name", HTTP_EVENTS)
def test_a_request_is_the_same_in_every_shape(name: str) -> None:
    event = recorded(name)
    shape = detect_shape(event)
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
