"""Only blocks that were written completely are used, whoever wrote them and however that ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.object_storage.block_file import BLOCK, BlockFile

CONTENT = np.random.default_rng(1).integers(0, 256, 3 * BLOCK + 17, np.uint8).tobytes()


def opened(folder: Path, etag: str = '"1"') -> BlockFile:
    return BlockFile(folder, "s3://b/k", etag, len(CONTENT))


def valid(file: BlockFile, number: int) -> bool:
    return bool(file.all_valid([number]))


def block(number: int) -> bytes:
    return CONTENT[number * BLOCK :][:BLOCK]


def test_what_was_written_is_there_for_every_reader(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    assert [valid(one, at) for at in range(4)] == [False] * 4
    one.write(1, CONTENT[BLOCK:])
    for each in (one, other, opened(tmp_path)):
        assert [valid(each, at) for at in range(4)] == [False, True, True, True]
        assert bytes(each.data[BLOCK:]) == CONTENT[BLOCK:]


def test_a_block_that_was_changed_is_not_used(tmp_path: Path) -> None:
    file = opened(tmp_path)
    file.write(0, CONTENT)
    begin = file.path.stat().st_size - len(CONTENT)
    with file.path.open("r+b") as raw:
        raw.seek(begin + BLOCK + 5)
        raw.write(bytes([CONTENT[BLOCK + 5] ^ 1]))
    assert [valid(opened(tmp_path), at) for at in range(4)] == [True, False, True, True]


@pytest.mark.parametrize("damage", ["shorter", "longer", "header", "empty"])
def test_a_file_of_another_form_is_replaced_and_not_changed(tmp_path: Path, damage: str) -> None:
    first = opened(tmp_path)
    first.write(0, CONTENT)
    path, size = first.path, first.path.stat().st_size
    if damage == "header":
        with path.open("r+b") as raw:
            raw.write(b"nonsense")
    elif damage == "longer":
        os.truncate(path, size + 1)
    elif damage == "shorter":
        path.unlink()  # the one that is mapped must not shrink
        path.write_bytes(bytes(4096))
    else:
        path.unlink()
        path.touch()
    again = opened(tmp_path)
    again.write(0, CONTENT)
    assert all(valid(again, at) for at in range(4))
    assert path.stat().st_size == size
    assert bytes(first.data) == CONTENT  # what was mapped before stays as it was


KILLED = """
import os, sys
from pathlib import Path
from ranklet.runtime.object_storage import block_file

stop, content = int(sys.argv[2]), Path(sys.argv[3]).read_bytes()
written, pwrite = 0, os.pwrite


def limited(descriptor, data, at):
    # Written byte by byte would take long: pieces of 700 bytes, and then the process is killed.
    global written
    piece = bytes(data[:700])
    if written + len(piece) > stop:
        pwrite(descriptor, piece[: stop - written], at)
        os.kill(os.getpid(), 9)
    written += len(piece)
    return pwrite(descriptor, piece, at)


os.pwrite = limited
file = block_file.BlockFile(Path(sys.argv[1]), "s3://b/k", '"1"', len(content))
file.write(0, content)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", [0, 30, 700, BLOCK, 2 * BLOCK + 99, len(CONTENT) + 60, 98_390])
def test_a_killed_writer_leaves_no_block_that_is_wrong(tmp_path: Path, stop: int) -> None:
    content = tmp_path / "content"
    content.write_bytes(CONTENT)
    folder = tmp_path / "cache"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(stop), str(content)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    file = opened(folder)
    for at in range(4):
        if valid(file, at):
            assert bytes(file.data[at * BLOCK :][:BLOCK]) == block(at)
    file.write(0, CONTENT)
    assert all(valid(file, at) for at in range(4))


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(BundleError, match="No space left"):
        file.write(0, CONTENT)
    monkeypatch.undo()
    assert not valid(file, 0)
