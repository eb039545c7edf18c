"""A Lambda function in this process: every event's shape, as recorded, and what goes wrong."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.aws.conftest import (
    ADDRESS,
    ASKED,
    HTTP_EVENTS,
    PLACE,
    Context,
    answered,
    got,
    lines,
    recorded,
    with_body,
)

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.aws import function as function_module
from ranklet.handlers.aws.function import Function, InternalError, strip_base_path
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError, RankletError, UnknownRankerError


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
    assert strip_base_path(path) == found


@pytest.mark.parametrize("name", ["rest", "http", "alb"])
def test_get_requests_answer_health_checks(function: Function, name: str) -> None:
    for path in ("/healthz", "/readyz"):
        for method in ("GET", "HEAD"):
            reply = function(with_body(name, None, path, method), Context())
            assert answered(reply) == {"status": "ok"}


@pytest.mark.parametrize("name", ["rest", "http", "alb"])
@pytest.mark.parametrize(
    ("body", "path", "method", "status", "message"),
    [
        ("no JSON", "/rank", "POST", 400, "not JSON"),
        (None, "/rank", "POST", 400, "not JSON"),
        ('{"query": NaN}', "/rank", "POST", 400, "NaN is not JSON"),
        ({"query": "x", "k": -1}, "/rank", "POST", 422, "'k' must be"),
        ({"query": "x", "id": "none"}, "/explain", "POST", 404, "none"),
        ({"query": "x", "y": "y" * (4 << 20)}, "/rank", "POST", 413, "the body has"),
        (ASKED, "/", "POST", 404, "there are /rank, /explain"),
        (ASKED, "/../etc/passwd", "POST", 404, "no such path"),
        (None, "/rank", "GET", 405, "/rank takes POST, not 'GET'"),
        (None, "/rank", "", 405, "/rank takes POST"),
        (None, "/rank", "\ud800", 405, "not '\\ud800'"),
        (ASKED, "/healthz", "POST", 405, "/healthz takes GET, HEAD"),
    ],
)
def test_a_client_error_is_answered_in_json_and_not_raised(
    function: Function, name: str, body: Any, path: str, method: str, status: int, message: str
) -> None:
    reply = function(with_body(name, body, path, method), Context())
    error = answered(reply, status)
    assert message in error["error"]
    assert set(error) == {"error", "error_type"}
    assert "Traceback" not in reply["body"]
    assert ("allow" in reply["headers"]) == (status == 405)


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ("text", RequestError, "the event must be a JSON object, not str"),
        ([ASKED], RequestError, "not list"),
        (None, RequestError, "not NoneType"),
        ({}, RequestError, "'query' is missing"),
        ({"query": "x", "filtr": {}}, RequestError, "unknown field .filtr.; the fields are"),
        ({"query": "x", "action": "drop"}, RequestError, "'action' must be one of rank, explain"),
        ({"query": "x", "action": ["rank"]}, RequestError, "'action' must be one of"),
        ({"query": "x", "action": ""}, RequestError, "'action' must be one of"),
        ({"query": "x", "pipeline": "none"}, UnknownRankerError, "unknown pipeline 'none'"),
        ({"query": "x \ud83d"}, RequestError, "half a character"),
        ({"query": "x", "where": {"\udcff": 1}}, RequestError, "half a character"),
        ({"query": "x", "\ud800": 1}, RequestError, "unknown field '.ud800'"),
        ({"Records": []}, RequestError, "are not served"),
        ({"Records": [1]}, RequestError, "are not served"),
        ({"Records": [{"EventSource": "aws:sns"}]}, RequestError, "are not served"),
    ],
)
def test_a_wrong_direct_event_raises_what_its_caller_can_read(
    function: Function, event: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        function(event, Context())
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", function_module.UNREAD)
def test_what_would_protect_only_a_server_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is set, but only a server reads it"):
        Function({name: "full"})


@pytest.mark.parametrize("context", [None, object()])
def test_a_local_runner_may_give_no_context(function: Function, context: Any) -> None:
    assert function(ASKED, context)["hits"]
    answered(function(recorded("rest"), context))
    assert function.budget_ms(context) == Limits().seconds * 1e3


def broken(*_: Any, **__: Any) -> Any:
    raise OSError("/srv/secret/path")


def test_an_answer_is_never_larger_than_lambda_delivers(
    function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function_module, "MOST_BYTES", 500)
    small = Function({"RANKLET_MAX_ANSWER_BYTES": "400"})
    for each, most in ((Function({}), 500), (small, 400)):
        each.load()
        error = answered(each(recorded("rest"), Context()), 413)["error"]
        assert f"at most {most} can be sent" in error or f"more than {most} bytes" in error
        with pytest.raises(RequestError, match="return_documents"):
            each(ASKED, Context())


def test_an_internal_error_is_logged_and_hidden_from_the_caller(
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


def test_the_time_that_is_left_is_the_budget(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    body = answered(function(with_body("http", ASKED), Context(left_ms=150)))
    assert body["budget_spent"] is True
    assert body["left_out"] == ["rescore by model1", "rescore by model1_pieces"]
    assert len(body["hits"]) == 3
    assert lines(capsys)[-1]["LeftOut"] == 2
    assert answered(function(with_body("http", ASKED), Context()))["left_out"] == []
    assert function.budget_ms(Context(left_ms=0)) == 0
    assert function.budget_ms(Context(left_ms=1000)) == 800
    assert function.budget_ms(Context(left_ms=900_000)) == 30_000  # the limit of a request


@pytest.mark.parametrize(
    ("name", "value"),
    [("RANKLET_MARGIN_MS", "-1"), ("RANKLET_MARGIN_MS", "1e3"), ("RANKLET_MAX_K", "many")],
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
    monkeypatch.setattr(function_module, "RETRY_SECONDS", 0)
    assert len(answered(function(recorded("http"), Context()))["hits"]) == 3


def test_a_bundle_without_documents_ranks_the_callers_own(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.exported))
    function = Function({})
    function.load()  # its lexical rankers need a collection's statistics
    assert answered(function(recorded("http"), Context()), 503)


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


def test_no_line_has_the_query_of_a_request_that_fails(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"query": 'my "secret', "k": "secret", "syntax": "query"})
    function({**recorded("rest"), "body": body}, Context())
    asked = {"query": "secret", "pipeline": "secret", "where": {"secret": "secret"}}
    with pytest.raises(RankletError):
        function(asked, Context())
    written = capsys.readouterr().out
    assert "secret" not in written
    assert '"error_type": "' in written


@pytest.mark.parametrize("name", HTTP_EVENTS)
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Content-Encoding", "gzip", 415),
        ("content-encoding", "identity", 200),
        ("CONTENT-TYPE", 'application/json; charset="UTF-16"', 415),
        ("Content-Type", "application/json; charset=utf-8", 200),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_as_a_server_does(
    function: Function, name: str, header: str, value: str, status: int
) -> None:
    event = recorded(name)
    for headers, given in (("headers", value), ("multiValueHeaders", [value])):
        if headers in event:
            event[headers] = {header: given}
    answered(function(event, Context()), status)


@pytest.mark.slow
def test_a_bundle_on_s3_is_read_in_place_and_again_when_it_was_replaced(
    bucket: Any, built: Built, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=data)
    monkeypatch.setenv("RANKLET_BUNDLE", ADDRESS)
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(function_module, "RETRY_SECONDS", 0)
    function = Function({})
    function.load(must=True)
    wanted = function(ASKED, Context())["hits"]
    assert wanted
    function.before_snapshot()  # which closes the connections, and others are opened
    bucket.put_object(**PLACE, Body=built.zipped.read_bytes() + b"\0" * 3)
    body = {"query": "dough", "texts": [f"dough {at}" for at in range(3)]}
    function({**body, "action": "rerank"}, Context())
    for _ in range(2):  # at most one request notices
        with suppress(RankletError):
            assert function({**ASKED, "k": 30}, Context())["hits"]
    assert function(ASKED, Context())["hits"] == wanted
