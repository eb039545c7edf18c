"""A file has its name only when it is complete."""

from pathlib import Path

import pytest

from ranklet.runtime.writing.atomic_file import atomic_file


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
        write_half(path)
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def write_half(path: Path) -> None:
    with atomic_file(path) as file:
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
