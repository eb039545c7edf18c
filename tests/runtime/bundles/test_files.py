"""A bundle's files are compared with its manifest."""

from pathlib import Path

import pytest

from ranklet.export.build import build
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import BundleError

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 90868\n"


def test_a_file_that_git_lfs_has_not_fetched_says_so(tmp_path: Path) -> None:
    bundle = build([{"text": "a red apple"}, {"text": "old rivers"}], tmp_path / "b")
    file = max((path for path in bundle.rglob("*.npy")), key=lambda path: path.stat().st_size)
    file.write_text(POINTER)
    name = file.relative_to(bundle).as_posix()
    with pytest.raises(BundleError, match=f"{name} is a pointer of git-lfs .*run `git lfs pull`"):
        BundleFiles(bundle)
    file.write_text("short")
    with pytest.raises(BundleError, match=f"{name} has 5 bytes"):
        BundleFiles(bundle)
