"""The function under the real awslambdaric, against our Runtime API; each test starts a process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.gate import Gate
from tests.handlers.runtime_api import PATIENCE, Function, RuntimeAPI, until

from ranklet.handlers.aws_lambda import main
from ranklet.runtime.bundle import Bundle

pytest.importorskip("awslambdaric")

EVENTS = Path(__file__).parent / "events"
ROOT = Path(__file__).parents[2]
QUERY = "how long to knead dough with water"
Start = Callable[..., Function]


@pytest.fixture
def api() -> Iterator[RuntimeAPI]:
    with RuntimeAPI() as found:
        yield found


@pytest.fixture
def start(api: RuntimeAPI, built: Built, gate: Gate, tmp_path: Path) -> Iterator[Start]:
    """Return what starts a function with the fused bundle; variables and the handler may differ."""
    running: list[Function] = []

    def started(**given: Any) -> Function:
        variables = {"RANKLET_BUNDLE": str(built.fused), **given}
        function = Function(api, tmp_path, client=gate.command("awslambdaric"), **variables)
        running.append(function)
        return function

    yield started
    for function in running:
        function.__exit__()
        # pytest shows this if the test failed
        sys.stdout.write(f"status {function.process.returncode}; {function.log}")


def test_the_function_answers_as_the_runtime_does(
    api: RuntimeAPI, start: Start, bundle: Bundle
) -> None:
    function = start()
    found = api.invoke({"query": QUERY, "k": 3})
    wanted = [(hit.id, hit.score) for hit in bundle.rank(QUERY, k=3)]
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == wanted
    for name in ("rest", "http", "function_url", "alb", "alb_multi_value"):
        reply = api.invoke((EVENTS / f"{name}.json").read_bytes())
        assert reply["statusCode"] == 200
        assert json.loads(reply["body"])["hits"] == found["hits"]
    (ready,) = function.lines("ready")
    assert ready["documents"] == 42
    first, *others = function.lines("request")
    assert first["cold_start"] is True
    assert [each["cold_start"] for each in others] == [False] * 5
    assert first["request_id"] != others[0]["request_id"]


@pytest.mark.slow
@pytest.mark.parametrize("initialization", ["snap-start", "provisioned-concurrency"])
def test_a_version_without_a_bundle_does_not_go_live(
    api: RuntimeAPI, start: Start, initialization: str
) -> None:
    function = start(RANKLET_BUNDLE="/nowhere", AWS_LAMBDA_INITIALIZATION_TYPE=initialization)
    kind, error = api.init_errors.get(timeout=PATIENCE)
    assert kind == error["errorType"] == "BundleError"
    assert "no bundle at '/nowhere'" in error["errorMessage"]
    assert function.process.wait(PATIENCE) == 1


@pytest.mark.slow
def test_a_snapshot_is_taken_when_all_is_open_and_a_restored_copy_starts_cold(
    api: RuntimeAPI, start: Start
) -> None:
    function = start(AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")
    assert api.snapshot_ready.wait(PATIENCE)
    assert function.lines("ready")
    assert not function.lines("restored from a snapshot")
    assert not api.waited_for.is_set()
    api.restore.set()
    assert api.invoke({"query": QUERY})["hits"]
    assert function.lines("restored from a snapshot")
    assert function.lines("request")[0]["cold_start"] is True
    assert api.restore_errors == []


@pytest.mark.slow
@pytest.mark.parametrize("threads", [False, True])
def test_sigterm_ends_an_idle_function_at_once(
    api: RuntimeAPI, start: Start, threads: bool
) -> None:
    # In AWS's own images the client asks for events in a thread.
    image = {"AWS_EXECUTION_ENV": "AWS_Lambda_python3.12"} if threads else {}
    function = start(**image)
    assert api.invoke({"query": QUERY})["hits"]
    function.process.send_signal(signal.SIGTERM)
    # A handler of Python's would never run: the main thread waits in C code for an event.
    assert function.process.wait(PATIENCE) == 0
    assert function.lines("stopped by SIGTERM")


@pytest.mark.slow
def test_sigterm_lets_a_running_request_end(api: RuntimeAPI, start: Start, gate: Gate) -> None:
    function = start()
    assert api.waited_for.wait(PATIENCE)
    gate.shut()
    invocation = api.send({"query": QUERY})
    until(lambda: gate.reached)
    function.process.send_signal(signal.SIGTERM)
    assert not invocation.done.is_set()
    gate.open()
    assert invocation.answer["hits"]
    assert not invocation.failed
    assert function.process.wait(PATIENCE) == 0


def test_importing_starts_nothing() -> None:
    code = (
        "import sys, ranklet.handlers.aws_lambda as module\n"
        "assert 'handler' not in vars(module)\n"
        "for name in ('awslambdaric', 'boto3', 'difflib', 'logging', 'onnxruntime', 'starlette',\n"
        "             'tokenizers', 'traceback', 'ranklet.runtime.search.local'):\n"
        "    assert name not in sys.modules, name"
    )
    environment = {name: value for name, value in os.environ.items() if name != "RANKLET_BUNDLE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=True,
        capture_output=True,
        env=environment,
    )
    assert done.stdout == done.stderr == b""


@pytest.mark.parametrize("event", [ROOT / "infra/lambda/event.json", EVENTS / "rest.json"])
def test_an_event_in_a_file_is_answered_here(
    built: Built, event: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.fused))
    assert main([str(event)]) == 0
    printed, logged = capfd.readouterr()
    reply = json.loads(printed)
    assert reply["statusCode"] == 200
    assert json.loads(reply["body"])["hits"][0]["id"] == "bread"
    assert '"message": "ready"' in logged


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is no event in JSON"),
        ("{", "is no event in JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "'query' is missing"),
    ],
)
def test_an_event_that_cannot_be_answered_ends_in_one_line(
    built: Built, text: str | None, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.fused))
    event = tmp_path / "event.json"
    if text is not None:
        event.write_text(text)
    assert main([str(event)]) == 1
    printed, logged = capfd.readouterr()
    assert printed == ""
    assert message in logged.splitlines()[-1]
    assert logged.splitlines()[-1].startswith("ranklet: ")
