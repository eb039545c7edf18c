"""The function under the real awslambdaric, against our Runtime API; each test starts a process."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.gate import Gate
from tests.handlers.runtime_api import PATIENCE, Function, RuntimeAPI, until

from ranklet.handlers.aws_lambda import main, on_sigterm
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


def test_all_is_open_before_the_first_request(api: RuntimeAPI, start: Start) -> None:
    function = start()
    assert api.waited_for.wait(PATIENCE)
    assert function.lines("ready")  # at init, and not when an event came
    invocation = api.send({"query": QUERY})
    assert invocation.answer["hits"]
    (line,) = function.lines("request")
    assert line["cold_start"] is True


def test_a_wrong_event_is_a_function_error_for_direct_callers_only(
    api: RuntimeAPI, start: Start
) -> None:
    function = start()
    invocation = api.send({"query": ""})
    error = invocation.answer
    assert invocation.failed
    assert (error["errorType"], error["requestId"]) == ("RequestError", invocation.id)
    assert error["errorMessage"] == "'query' is empty; give at least one word"
    assert all("answers.py" not in frame for frame in error["stackTrace"])
    assert api.invoke({"query": "x", "pipeline": "y"})["errorType"] == "UnknownRankerError"
    assert api.invoke(["query"])["errorMessage"] == "the event must be a JSON object, not list"
    invocation = api.send(b"no JSON")
    assert invocation.answer["errorType"] == "Runtime.UnmarshalError"
    event = json.loads((EVENTS / "http.json").read_bytes()) | {"body": "no JSON"}
    invocation = api.send(event)
    assert (invocation.answer["statusCode"], invocation.failed) == (400, False)
    assert function.process.poll() is None  # still there after all of it


@pytest.mark.slow
def test_an_answer_past_the_limit_is_a_413_and_what_fits_arrives(
    api: RuntimeAPI, start: Start
) -> None:
    start(RANKLET_MAX_BODY_BYTES="9000000", RANKLET_MAX_CHARACTERS="9000000")
    event = json.loads((EVENTS / "function_url.json").read_bytes())
    event |= {"rawPath": "/rerank", "isBase64Encoded": False}

    def with_text(characters: int) -> dict[str, Any]:
        return {"query": "dough", "texts": ["ü" * characters, "dough"], "return_text": True}

    # The client writes each ü as six bytes, and once more for the body inside the reply.
    reply = api.invoke({**event, "body": json.dumps(with_text(1_040_000))})
    assert reply["statusCode"] == 200
    assert len(json.dumps(reply)) > 6_200_000
    reply = api.invoke({**event, "body": json.dumps(with_text(1_060_000))})
    assert reply["statusCode"] == 413
    assert "ask for fewer hits" in reply["body"]
    invocation = api.send({"action": "rerank", **with_text(1_060_000)})
    assert invocation.answer["errorType"] == "RequestError"
    assert "the answer has 6,3" in invocation.answer["errorMessage"]


@pytest.mark.slow
def test_the_deadline_of_an_invocation_is_its_budget(api: RuntimeAPI, start: Start) -> None:
    function = start(RANKLET_MARGIN_MS="900")
    api.invoke({"query": QUERY})
    hurried = api.send({"query": QUERY, "k": 3}, timeout_ms=900).answer
    assert hurried["budget_spent"] is True
    assert hurried["left_out"] == ["rescore by model1", "rescore by model1_pieces"]
    assert len(hurried["hits"]) == 3
    assert "left_out" not in api.invoke({"query": QUERY, "k": 3})
    assert [line["LeftOut"] for line in function.lines("request")] == [0, 2, 0]


@pytest.mark.slow
def test_a_function_without_a_bundle_stays_alive_and_answers_503(
    api: RuntimeAPI, start: Start
) -> None:
    function = start(RANKLET_BUNDLE="/nowhere")
    reply = api.invoke((EVENTS / "http.json").read_bytes())
    assert reply["statusCode"] == 503
    assert "nowhere" not in reply["body"]
    assert api.invoke({"query": "x"})["errorMessage"].startswith("not ready")
    assert "no bundle at '/nowhere'" in function.lines("no bundle")[0]["error"]
    assert api.init_errors.empty()
    assert function.process.poll() is None


@pytest.mark.slow
def test_a_damaged_bundle_is_no_bundle(
    api: RuntimeAPI, start: Start, built: Built, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(built.zipped.read_bytes()[:-2000])
    function = start(RANKLET_BUNDLE=str(damaged))
    assert api.invoke((EVENTS / "alb.json").read_bytes())["statusCode"] == 503
    assert "damaged.zip" in function.lines("no bundle")[0]["error"]
    shutil.copy(built.zipped, damaged)  # and once it is repaired, it is served
    until(lambda: api.invoke((EVENTS / "alb.json").read_bytes())["statusCode"] == 200)


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
def test_a_variable_that_cannot_be_used_is_an_init_error(api: RuntimeAPI, start: Start) -> None:
    function = start(RANKLET_MAX_K="many")
    kind, error = api.init_errors.get(timeout=PATIENCE)
    assert (kind, function.process.wait(PATIENCE)) == ("InputError", 1)
    assert "RANKLET_MAX_K is 'many'" in error["errorMessage"]


@pytest.mark.slow
def test_an_unknown_handler_name_is_reported(api: RuntimeAPI, start: Start) -> None:
    start(handler="ranklet.handlers.aws_lambda.handle")
    assert api.init_errors.get(timeout=PATIENCE)[0] == "Runtime.HandlerNotFound"


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


def mapped(pid: int, bundle: Path) -> list[str]:
    """Return the files of a bundle that a process maps, and how."""
    return sorted(
        line.split()[1] + " " + line.split()[-1]
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
        if str(bundle) in line
    )


@pytest.mark.slow
def test_several_workers_share_one_mapped_bundle(
    api: RuntimeAPI, start: Start, built: Built
) -> None:
    function = start(AWS_LAMBDA_MAX_CONCURRENCY="3", RANKLET_BUNDLE=str(built.zipped))
    ready = function.wait_for("ready", 3)
    pids = {line["pid"] for line in ready}
    assert len(pids) == 3
    invocations = [api.send({"query": QUERY, "k": 3}) for _ in range(60)]
    answers = [each.answer["hits"] for each in invocations]
    assert all(hits == answers[0] for hits in answers)
    maps = [mapped(pid, built.zipped) for pid in pids]
    assert maps[0] == maps[1] == maps[2]
    # Shared, read-only maps of the same files: the memory is there once.
    assert {line.split()[0] for line in maps[0]} == {"r--s"}


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
        "for name in ('boto3', 'onnxruntime', 'awslambdaric', 'starlette', 'tokenizers'):\n"
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


# The main thread waits in C code that goes on after a signal, so a handler of Python's never runs.
WAITING = """
import ctypes, os, signal
from ranklet.handlers.aws_lambda import main, on_sigterm
on_sigterm(lambda: os._exit(7))
signal.siginterrupt(signal.SIGTERM, False)
empty, _ = os.pipe()
print("ready", flush=True)
ctypes.CDLL(None).read(empty, ctypes.create_string_buffer(1), 1)
"""


def test_sigterm_is_noticed_while_the_main_thread_waits_in_c() -> None:
    command = [sys.executable, "-W", "error", "-c", WAITING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 7


def test_on_sigterm_has_no_effect_outside_the_main_thread() -> None:
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=on_sigterm, args=(lambda: None,))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before


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
