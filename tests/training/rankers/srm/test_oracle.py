"""The file of the oracle's vectors."""

import errno
import os
from pathlib import Path

import pytest

from ranklet.training.rankers.srm import oracle

PRIVATE, SHAPE = 0o700, (4, 8)


def made(folder: Path | None, monkeypatch: pytest.MonkeyPatch, code: int) -> "oracle._File":
    def refuse(*_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    return oracle._File(folder, SHAPE, "digest")


@pytest.mark.parametrize("kept", [True, False])
def test_a_full_disk_is_an_error_before_vectors_are_written(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(PRIVATE)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        made(tmp_path if kept else None, monkeypatch, errno.ENOSPC)


def test_a_file_system_that_reserves_nothing_has_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(PRIVATE)
    file = made(tmp_path, monkeypatch, errno.EOPNOTSUPP)
    file.values[:] = 3
    file.keep(1)
    again = oracle._File(tmp_path, SHAPE, "digest")
    assert again.done == 1
    assert again.values.tolist() == [[3] * 8] * 4
