"""Where the cache is, who may write to it, and what leaves it when it is full."""

import errno
import gc
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.object_storage.block_file import BLOCK, BlockFile
from ranklet.runtime.object_storage.cache_folder import cache_folder, limit, make_room


def test_the_folder_is_the_argument_or_the_variable_or_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKLET_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert cache_folder() == tmp_path / "home/.cache/ranklet/blocks"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg/ranklet/blocks"
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "chosen"))
    assert cache_folder() == tmp_path / "chosen/blocks"
    assert cache_folder(tmp_path / "given") == tmp_path / "given/blocks"
    assert (tmp_path / "given/blocks").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks").chmod(0o777)
    with pytest.raises(BundleError, match="only this user"):
        cache_folder(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BundleError, match="RANKLET_CACHE"):
        cache_folder(tmp_path / "file")


def test_the_limit_counts_bytes_and_is_half_of_a_small_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_CACHE_GB", "0.5")
    assert limit(tmp_path) == 500_000_000
    monkeypatch.delenv("RANKLET_CACHE_GB")
    for total, most in ((3_000, 1_500), (1 << 50, 10_000_000_000)):
        monkeypatch.setattr(
            "shutil.disk_usage", lambda _, total=total: SimpleNamespace(total=total)
        )
        assert limit(tmp_path) == most


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_costs_what_was_used_longest_ago(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = BlockFile(tmp_path, "s3://b/old", '"1"', 8 * BLOCK)
    old.write(0, bytes([1]) * 8 * BLOCK)
    gone = old.path
    del old
    gc.collect()
    write = os.pwrite

    def full(descriptor: int, data: memoryview, at: int) -> int:
        if gone.exists():
            raise OSError(number, os.strerror(number))
        return write(descriptor, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    file = BlockFile(tmp_path, "s3://b/new", '"1"', BLOCK)  # the header needs room, too
    assert not gone.exists()
    gone.touch()
    file.write(0, bytes([2]) * BLOCK)
    assert file.all_valid([0]) == [0]


def test_files_that_were_used_longest_ago_leave_unless_they_are_open(tmp_path: Path) -> None:
    kept, paths = [], []
    for number in range(4):
        file = BlockFile(tmp_path, f"s3://b/{number}", '"1"', 8 * BLOCK)
        file.write(0, bytes([number + 1]) * 8 * BLOCK)
        os.utime(file.path, (number, number))
        paths.append(file.path)
        kept.append(file)
    make_room(tmp_path, 0)
    assert all(path.exists() for path in paths)
    del kept[:3], file
    gc.collect()
    make_room(tmp_path, 3 * 9 * BLOCK)
    assert [path.exists() for path in paths] == [False, True, True, True]
    make_room(tmp_path, 0)
    assert [path.exists() for path in paths] == [False, False, False, True]
    assert bytes(kept[0].data[:9]) == b"\4" * 9
