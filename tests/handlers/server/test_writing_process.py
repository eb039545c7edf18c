"""What a server writes, and how it fails, is the same in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.handlers.conftest import PATIENCE

from ranklet.corpus.updating.live import LEAST
from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.server.writing_process import WritingProcess
from ranklet.runtime import BundleError, load
from ranklet.runtime.bundles.files import locate_additions
from ranklet.runtime.ground.errors import BusyError
from ranklet.workflows.build import build

LIMITS = Limits()
HOLDS = """
import sys
from pathlib import Path
from ranklet.runtime.writing.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def process() -> Iterator[WritingProcess]:
    with closing(WritingProcess()) as process:
        yield process


def test_what_another_process_writes_is_found_and_its_refusals_are_the_callers(
    tmp_path: Path, process: WritingProcess
) -> None:
    path = Path(build([{"id": "a", "text": "a plan", "tenant": "us"}], tmp_path / "b.ranklet"))
    writer = Writer(str(path), within={"tenant": "us"}, elsewhere=process.write)
    body = {"documents": [{"id": "b", "text": "another plan\n“new”", "tenant": "us"}]}
    assert writer.add(body, LIMITS) == {"added": 1, "replaced": 0, "documents": 2}
    assert {hit.text for hit in load(path).rank("plan")} == {"a plan", "another plan\n“new”"}
    alone = Writer(str(path), within={"tenant": "us"})
    for wrong in ({"id": "c", "text": "", "tenant": "us"}, {"id": "c", "text": "x", "tenant": "x"}):
        failures = []
        for each in (alone, writer):
            with pytest.raises(Exception) as raised:  # noqa: PT011 (whatever the writer raises)
                each.add({"documents": [wrong]}, LIMITS)
            failures.append(failure(raised.value))
        assert failures[0] == failures[1]
    with pytest.raises(RequestError, match="unknown document id 'none'"):
        writer.delete_one("none")
    assert writer.delete_one("b")["deleted"] == 1


def test_a_process_that_ends_is_reported_and_another_one_follows(
    tmp_path: Path, process: WritingProcess
) -> None:
    nowhere = Writer(str(tmp_path / "none.ranklet"), elsewhere=process.write)
    with pytest.raises(BundleError, match="none"):
        nowhere.delete({"ids": ["a"]}, LIMITS)
    assert process._process is not None
    process._process.kill()
    process._process.wait()
    with pytest.raises(RequestError, match="the process that writes has ended") as raised:
        nowhere.delete({"ids": ["a"]}, LIMITS)
    assert raised.value.status == 503
    with pytest.raises(BundleError, match="none"):
        nowhere.delete({"ids": ["a"]}, LIMITS)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock of a bundle in another process."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        yield
        other.stdin.close()


def test_what_waits_for_another_program_is_given_up_and_never_written(
    tmp_path: Path, process: WritingProcess
) -> None:
    path = Path(build([{"id": "a", "text": "a plan"}], tmp_path / "b.ranklet"))
    body = {"documents": [{"id": "b", "text": "another plan"}]}
    with held(path):
        for elsewhere in (process.write, None):
            for seconds in (0.0, 0.2):
                with pytest.raises(BusyError) as raised:
                    Writer(str(path), elsewhere=elsewhere, seconds=seconds).add(body, LIMITS)
                assert failure(raised.value)[0] == 503
                assert str(path) not in failure(raised.value)[1]["error"]
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(Writer(str(path), elsewhere=process.write).add, body, LIMITS)
            process.hurry()
            with pytest.raises((BusyError, RequestError)):
                waiting.result()
    process.close()
    assert len(load(path)) == 1
    assert not Path(locate_additions(path)).exists()


def test_what_was_added_is_joined_after_the_answer_and_later_writes_go_first(
    tmp_path: Path, process: WritingProcess
) -> None:
    path = Path(build([{"id": "a", "text": "a plan"}], tmp_path / "b.ranklet"))
    writer = Writer(str(path), elsewhere=process.write)
    many = [{"id": f"n{at}", "text": "a plan"} for at in range(LEAST)]
    assert writer.add({"documents": many}, LIMITS)["added"] == LEAST
    assert writer.add({"documents": [{"id": "z", "text": "zebra"}]}, LIMITS)["added"] == 1
    until = monotonic() + PATIENCE
    while load(path).additions is not None:
        assert monotonic() < until
        sleep(0.05)
    assert [hit.id for hit in load(path).rank("zebra")] == ["z"]
    assert len(load(path)) == LEAST + 2
