"""A file has its name only when it is complete."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest

from ranklet.runtime.writing.atomic_file import atomic_file, new_file


def test_readers_find_the_earlier_file_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    path.write_bytes(b"earlier")
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"earlier"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    path.write_bytes(b"earlier")
    with pytest.raises(ValueError, match="full"):
        write_half(path, atomic_file)
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def write_half(path: Path, opened: Callable[[Path], AbstractContextManager[BinaryIO]]) -> None:
    with opened(path) as file:
        file.write(b"half")
        raise ValueError("full")


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    with atomic_file(path) as one, atomic_file(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "none" / "scores.npz"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_is_gone_after_an_error_and_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "new.zip"
    with pytest.raises(ValueError, match="full"):
        write_half(path, new_file)
    assert list(tmp_path.iterdir()) == []
    with new_file(path) as file:
        file.write(b"new")
    with pytest.raises(FileExistsError), new_file(path):
        pass
    assert path.read_bytes() == b"new"
