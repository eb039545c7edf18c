"""Nothing is read from a folder that another user could have put there."""

import os
from pathlib import Path

import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.writing.private_folder import check_private, private_folder

ANOTHER = 12_345  # a user


def made(folder: Path, mode: int) -> Path:
    folder.mkdir(parents=True)
    folder.chmod(mode)
    return folder


def refused(folder: Path) -> bool:
    try:
        private_folder(folder, "give another")
    except BundleError as error:
        assert "give another" in str(error)  # noqa: PT017
        return True
    return False


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o775, 0o770])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    assert refused(made(tmp_path / "open", mode))


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_so_is_one_below_such_a_folder(tmp_path: Path, mode: int) -> None:
    above = made(tmp_path / "open", mode)
    made(above / "mine", 0o700)
    assert refused(above / "mine")
    assert refused(above / "mine" / "new")
    (tmp_path / "link").symlink_to(above / "mine")
    assert refused(tmp_path / "link")
    (above / "safe").symlink_to(made(tmp_path / "safe", 0o700))  # others could change the link
    assert refused(above / "safe")


def test_the_temporary_folder_is_trusted_but_not_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = made(tmp_path / "tmp", 0o777)  # as a volume of Kubernetes is
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert not refused(temporary / "mine")
    assert refused(made(temporary / "open", 0o777))


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders to others")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    theirs = made(tmp_path / "theirs", 0o755)
    os.chown(theirs, ANOTHER, ANOTHER)
    made(theirs / "mine", 0o700)
    assert refused(theirs)
    assert refused(theirs / "mine")
    link = tmp_path / "link"
    link.symlink_to(made(tmp_path / "mine", 0o700))
    assert not refused(link)
    os.chown(link, ANOTHER, ANOTHER, follow_symlinks=False)
    assert refused(link)


def test_a_kept_folder_may_be_missing_but_not_open(tmp_path: Path) -> None:
    check_private(tmp_path / "missing", "")
    check_private(made(tmp_path / "mine", 0o755), "")
    with pytest.raises(BundleError, match="chmod go-w"):
        check_private(made(tmp_path / "open", 0o775), "remove it")
