"""Lambda's events and context, and S3 by a server that speaks its protocol."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.buckets import empty_bucket, s3_server, use_s3
from tests.conftest import Built

from ranklet.handlers.aws.function import Function
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.object_storage import s3_ranges, transport

EVENTS = Path(__file__).parent.parent / "events"
HTTP_EVENTS = ("rest", "http", "function_url", "alb", "alb_multi_value")
ASKED = {"query": "how long to knead dough with water", "k": 3}
ADDRESS = "s3://bundles/team/search.zip"
PLACE = {"Bucket": "bundles", "Key": "team/search.zip"}


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


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Return a client of an empty bucket. Downloads go to a folder of the test."""
    use_s3(endpoint, monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # so that TMPDIR is read
    monkeypatch.setattr(transport, "FIRST_PAUSE", 0.001)
    with empty_bucket(s3_ranges.s3_client(1)) as client:
        yield client
