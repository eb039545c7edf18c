"""Loading a bundle: once per path, and again after it was replaced."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet import runtime
from ranklet.runtime import BundleError, InputError

if TYPE_CHECKING:
    from tests.conftest import Built


def test_loading_twice_gives_the_same_object(
    built: "Built", monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runtime.load(built.fused)
    assert runtime.load(str(built.fused)) is first
    assert runtime.load(built.fused.parent / "." / built.fused.name) is first
    monkeypatch.chdir(built.fused.parent)
    assert runtime.load(built.fused.name) is first
    assert runtime.load(built.zipped) is not first


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_a_bundle_that_was_replaced_is_loaded_again(
    built: "Built", tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"bundle{suffix}"
    sources = (built.zipped, built.zipped) if suffix else (built.indexed, built.fused)
    copy_to = shutil.copyfile if suffix else shutil.copytree
    copy_to(sources[0], path)
    first = runtime.load(path)
    hits = list(first.rank("dough", pipeline="bm25"))
    path.rename(tmp_path / "old")
    copy_to(sources[1], path)
    second = runtime.load(path)
    assert second is not first
    assert runtime.load(path) is second
    # Who holds the old one goes on with it.
    assert list(first.rank("dough", pipeline="bm25")) == hits
    assert list(second.rank("dough", pipeline="bm25")) == hits


def test_the_full_check_loads_again(built: "Built") -> None:
    first = runtime.load(built.fused)
    assert runtime.load(built.fused, check="full") is not first


def test_the_environment_names_the_bundle(built: "Built", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.fused))
    wanted = list(runtime.rank("dough", bundle=built.fused))
    assert list(runtime.rank("dough")) == wanted
    assert list(runtime.rank_batch(["dough"])[0]) == wanted
    assert runtime.score("dough", ["dough"])[0] > 0
    for value in ("", None):
        if value is None:
            monkeypatch.delenv("RANKLET_BUNDLE")
        else:
            monkeypatch.setenv("RANKLET_BUNDLE", value)
        with pytest.raises(InputError, match=r"no bundle is given.*RANKLET_BUNDLE"):
            runtime.rank("dough")


def file(path: Path, text: str) -> Path:
    (path / "file").write_text(text)
    return path / "file"


def pipe(path: Path) -> Path:
    os.mkfifo(path / "pipe")
    return path / "pipe"


def loop(path: Path) -> Path:
    (path / "loop").symlink_to(path / "loop")
    return path / "loop"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "nothing", "no bundle at"),
        (lambda path: path / "a\0b", "no bundle at|cannot be read"),
        (lambda path: path / ("x" * 5000), "cannot be read"),
        (lambda path: path, "has no manifest.json, so it is not a bundle"),
        (lambda path: file(path, "text"), "nor a zip"),
        (lambda path: file(path, ""), "nor a zip"),
        (pipe, "neither a folder nor a file"),
        (loop, "no bundle|cannot be"),
    ],
    ids=["missing", "nul", "long", "empty folder", "text", "empty file", "pipe", "loop"],
)
def test_what_is_no_bundle_is_refused(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(BundleError, match=message):
        runtime.load(path)
    with pytest.raises(BundleError, match=message):
        runtime.load(path, check="full")


@pytest.mark.parametrize("bundle", [7, b"bundle", ["bundle"]])
def test_a_bundle_that_is_no_path_is_refused(bundle: Any) -> None:
    with pytest.raises(InputError, match="bundle must be a path"):
        runtime.load(bundle)


@pytest.mark.parametrize("check", ["", "none", None, True])
def test_an_unknown_check_is_refused(built: "Built", check: Any) -> None:
    with pytest.raises(InputError, match="allowed are 'fast' and 'full'"):
        runtime.load(built.fused, check=check)
