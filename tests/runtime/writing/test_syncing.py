"""Files and folders are on the disk before anybody relies on them."""

import os
from pathlib import Path

import pytest

from ranklet.runtime.writing.syncing import sync_file, sync_folder, sync_tree


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were synced, in order."""
    done: list[str] = []

    def noted(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "fsync", noted)
    return done


def test_a_tree_is_synced_with_all_its_folders(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").touch()
    (tmp_path / "d").touch()
    sync_tree(tmp_path)
    assert sorted(synced) == [str(tmp_path / name) for name in (".", "a", "a/b", "a/b/c", "d")]


def test_an_open_file_is_synced_with_what_was_buffered(tmp_path: Path, synced: list[str]) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.write(b"1")
        sync_file(file)
        assert (tmp_path / "f").read_bytes() == b"1"
    assert synced == [str(tmp_path / "f")]


@pytest.mark.parametrize(("number", "raises"), [(22, False), (28, True)])
def test_only_a_system_that_syncs_no_folders_is_excused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, raises: bool
) -> None:
    def fails(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fails)
    if raises:
        with pytest.raises(OSError, match="No space"):
            sync_folder(tmp_path)
    else:
        sync_folder(tmp_path)
