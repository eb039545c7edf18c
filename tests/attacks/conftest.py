"""A bundle to damage, made whole again after each test: hundreds of copies would take long."""

import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Built

SECONDS = 300  # far more than any attack may take, however busy the machine is

Entries = dict[str, tuple[int, ...]]


@pytest.fixture(autouse=True)
def _never_a_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"still running after {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)


def entries(folder: Path) -> Entries:
    """Return what tells one state of every file from another: its kind, its inode, its times."""
    states: Entries = {}
    for path in folder.rglob("*"):
        state = path.lstat()
        kind = stat.S_IFMT(state.st_mode)
        times = () if stat.S_ISDIR(kind) else (state.st_ino, state.st_mtime_ns, state.st_ctime_ns)
        states[path.relative_to(folder).as_posix()] = (kind, *times)
    return states


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.fixture(scope="module")
def _shared(built: "Built", tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(built.fused, tmp_path_factory.mktemp("attacks") / "victim"))


@pytest.fixture
def victim(_shared: Path, built: "Built") -> Iterator[Path]:
    """Return a bundle that a test may damage, alone in a folder that it may fill."""
    before = entries(_shared)
    yield _shared
    for path in _shared.parent.iterdir():
        if path != _shared:
            remove(path)
    after = entries(_shared)
    if {name: kind for name, (kind, *_) in after.items()} != {
        name: kind for name, (kind, *_) in before.items()
    }:
        remove(_shared)
        shutil.copytree(built.fused, _shared)
        return
    for name, state in after.items():
        if state != before[name]:
            (_shared / name).unlink()  # not overwritten: a bundle may still map it
            shutil.copyfile(built.fused / name, _shared / name)
