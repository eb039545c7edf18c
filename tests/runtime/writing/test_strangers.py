"""What does not belong to a folder is found, and never removed with it."""

from pathlib import Path

from ranklet.runtime.writing.strangers import files_in, matching, remove_own, strangers


def test_links_and_hidden_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / ".hidden").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert files_in(tmp_path) == ["a/.hidden", "link"]


def test_files_of_file_managers_are_nobodys() -> None:
    assert strangers([".DS_Store", "a/Thumbs.db", "x.npy"], matching("*.npy")) == ""
    assert strangers(["DS_Store"], matching("*.npy")) == "'DS_Store'"


def test_only_a_folder_of_ours_is_removed(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        (folder / "part").mkdir(parents=True)
        (folder / "part" / "x.npz").touch()
    (theirs / "thesis.txt").touch()
    (tmp_path / "link").symlink_to(ours)
    for folder in (tmp_path / "link", theirs, tmp_path / "missing"):
        remove_own(folder, matching("*.npz"))
    assert files_in(tmp_path) == [
        "link",
        "ours/part/x.npz",
        "theirs/part/x.npz",
        "theirs/thesis.txt",
    ]
    remove_own(ours, matching("*.npz"))
    assert not ours.exists()
