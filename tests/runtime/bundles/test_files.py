"""A bundle's files are compared with its manifest."""

import zipfile
from pathlib import Path

import pytest

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.verification import verify
from ranklet.workflows.build import build

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 90868\n"


def test_a_file_that_git_lfs_has_not_fetched_says_so(tmp_path: Path) -> None:
    bundle = Path(build([{"text": "a red apple"}, {"text": "old rivers"}], tmp_path / "b"))
    file = max((path for path in bundle.rglob("*.npy")), key=lambda path: path.stat().st_size)
    file.write_text(POINTER)
    name = file.relative_to(bundle).as_posix()
    with pytest.raises(BundleError, match=f"{name} is a pointer of git-lfs .*run `git lfs pull`"):
        BundleFiles(bundle)
    file.write_text("short")
    with pytest.raises(BundleError, match=f"{name} has 5 bytes"):
        BundleFiles(bundle)


def test_what_file_managers_leave_is_passed_over(tmp_path: Path) -> None:
    path = Path(build([{"id": "1", "text": "knead the dough"}], tmp_path / "b.ranklet"))
    (path / "text" / ".DS_Store").write_bytes(b"x")
    assert len(Bundle(path, "full").rank("dough")) == 1
    assert list(verify(path))
    (path / "text" / "more.npy").touch()
    with pytest.raises(BundleError, match=r"the bundle has 'text/more\.npy', not listed"):
        Bundle(path)


def test_a_bundle_one_folder_down_is_named(tmp_path: Path) -> None:
    path = Path(build([{"id": "1", "text": "knead the dough"}], tmp_path / "b.ranklet"))
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as file:
        file.write(path / MANIFEST, f"b.ranklet/{MANIFEST}")
    for outer in (tmp_path, packed):
        with pytest.raises(BundleError, match=f"it has 'b.ranklet/{MANIFEST}': give that folder"):
            Bundle(outer)
