"""Messages of a queue: which go back to it, and where the answers to the others are written."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.aws.conftest import (
    ADDRESS,
    EVENTS,
    PLACE,
    Context,
    digest,
    got,
    left,
    lines,
    recorded,
)
from tests.handlers.gate import Gate
from tests.handlers.runtime_api import Function as Process
from tests.handlers.runtime_api import RuntimeAPI

from ranklet.handlers.aws.function import Function
from ranklet.handlers.aws.sqs import Results, failures_of


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
