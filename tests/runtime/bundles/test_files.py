"""A bundle's files are compared with its manifest."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ranklet.corpus.building.writer import sha256
from ranklet.export.build import build
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import DICTIONARY, BundleFiles
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.errors import BundleError
from ranklet.runtime.verification import verify

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 90868\n"


def test_a_bundle_of_version_4_has_plain_texts_and_ranks_alike(tmp_path: Path) -> None:
    rows = [{"id": f"d{n}", "text": " and ".join([f"{n} rivers"] * n)} for n in range(1, 40)]
    path = Path(build(rows, tmp_path / "b"))
    asked = "rivers 7"
    wanted = [(hit.id, hit.score, hit.text) for hit in Bundle(path).rank(asked)]
    texts = [row["text"] for row in rows]
    assert list(BundleFiles(path).need_documents().texts) == texts
    (path / f"documents/texts{DICTIONARY}").unlink()
    np.save(path / "documents/texts.npy", np.frombuffer("".join(texts).encode(), np.uint8))
    ends = np.cumsum([0, *map(len, texts)])
    np.save(path / "documents/texts.offsets.npy", ends)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["format_version"] = 4
    del manifest["files"][f"documents/texts{DICTIONARY}"]
    for name in ("documents/texts.npy", "documents/texts.offsets.npy"):
        manifest["files"][name] = {
            "bytes": (path / name).stat().st_size,
            "sha256": sha256(path / name),
        }
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert [(hit.id, hit.score, hit.text) for hit in Bundle(path).rank(asked)] == wanted
    verify(path)


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


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not show them")
def test_small_bundles_keep_no_descriptor(tmp_path: Path) -> None:
    """Otherwise a few dozen of them would reach the limit that most systems have."""
    path = Path(build([{"id": "1", "text": "knead the dough"}], tmp_path / "b.ranklet"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    bundle = Bundle(path)
    assert len(bundle.rank("dough")) == 1
    assert len(list(Path("/proc/self/fd").iterdir())) == before
