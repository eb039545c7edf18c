"""A folder has its name only when it is complete."""

from pathlib import Path

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.writing.atomic_folder import atomic_folder


def check(place: Path) -> None:
    """Refuse to replace a folder that holds anything but a file of ours."""
    if place.is_dir() and {each.name for each in place.iterdir()} - {"ours"}:
        raise InputError("there is something else")


def write(target: Path, content: str) -> None:
    with atomic_folder(target, check) as folder:
        (folder / "ours").write_text(content)


def test_a_folder_is_written_and_replaced(tmp_path: Path) -> None:
    for content in ("first", "second"):
        write(tmp_path / "new" / "f", content)
        assert (tmp_path / "new" / "f" / "ours").read_text() == content
        assert [each.name for each in (tmp_path / "new").iterdir()] == ["f"]


def test_an_error_leaves_the_earlier_folder_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "f", "first")
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "f", check) as folder:
        (folder / "ours").write_text(str(1 / 0))
    assert (tmp_path / "f" / "ours").read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_what_came_meanwhile_is_looked_at_too(tmp_path: Path) -> None:
    def meanwhile() -> None:
        with atomic_folder(tmp_path / "f", check):
            (tmp_path / "f").mkdir()
            (tmp_path / "f" / "theirs").touch()

    with pytest.raises(InputError, match="something else"):
        meanwhile()
    assert (tmp_path / "f" / "theirs").exists()


def test_a_link_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "f")
    write(tmp_path / "link", "first")
    assert (tmp_path / "f" / "ours").read_text() == "first"
    assert (tmp_path / "link").is_symlink()
