"""One writer at a time, in whatever thread or process, and nobody waits for the dead."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.interrupted import LEFT_OPEN, interrupt

from ranklet.runtime.writing.locks import locked

HOLDS = """
import sys
from pathlib import Path
from ranklet.runtime.writing.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
    Path(sys.argv[1]).write_text("written")
"""
ADDS = """
import sys
from pathlib import Path
from ranklet.runtime.writing.locks import locked
target = Path(sys.argv[1])
for _ in range(20):
    with locked(target):
        target.write_text(str(int(target.read_text()) + 1))
"""


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    target, inside = tmp_path / "b", []

    def write() -> None:
        with locked(target):
            inside.append(1)
            assert sum(inside) == 1
            inside.pop()

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(tmp_path.iterdir()) == []


def test_processes_wait_for_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "b"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        stdin = process.stdin

        def end(_: float) -> None:
            if not stdin.closed:
                stdin.close()

        monkeypatch.setattr("time.sleep", end)
        with locked(target):
            assert target.read_text() == "written"
    assert f"waiting for another writer of {str(target)!r}" in caplog.text
    assert list(tmp_path.iterdir()) == [target]


def test_no_change_of_many_processes_is_lost(tmp_path: Path) -> None:
    target = tmp_path / "count"
    target.write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", ADDS, str(target)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert target.read_text() == "60"
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_killed_process_left_locks_nothing(tmp_path: Path) -> None:
    (tmp_path / ".b.lock").touch()
    with locked(tmp_path / "b"):
        pass
    assert list(tmp_path.iterdir()) == []


@LEFT_OPEN
def test_an_interrupted_writer_holds_no_lock(tmp_path: Path) -> None:
    def write() -> None:
        with locked(tmp_path / "b"):
            pass

    assert interrupt(write, write, 40)
    assert not [*tmp_path.iterdir()]
