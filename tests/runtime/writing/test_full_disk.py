"""A disk that is full, from any moment of a write on, and killed writers that have filled it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import ranklet
from ranklet.corpus.updating.sync import sync
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.bundles.files import locate_additions
from ranklet.runtime.ground.errors import BundleError, CollectionError

Write = Callable[[WritableBundle], object]
DOORS: dict[str, Write] = {
    "add": lambda bundle: bundle.add([{"id": "n", "text": "a new house"}]),
    "delete": lambda bundle: bundle.delete(["b"]),
    "restore": lambda bundle: bundle.restore(1),
    "sync": lambda bundle: sync(bundle, bundle.path.parent / "texts"),  # type: ignore[union-attr]
    "compact": lambda bundle: bundle.compact(),
    "update": lambda bundle: ranklet.update(bundle, delete=["b"]),
}


def made(folder: Path, *, added: bool = True) -> WritableBundle:
    rows = [{"id": name, "text": f"{name} mouse", "tenant": name} for name in "abc"]
    bundle = WritableBundle(ranklet.build(rows, folder / "b"))
    return bundle.add([{"id": "d", "text": "mice"}]).delete(["d"]) if added else bundle


def held(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def size(folder: Path) -> int:
    return sum(map(len, held(folder).values()))


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_a_disk_that_becomes_full_is_told_and_nothing_is_left(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "new.txt").write_text("a new text")
    bundle = made(tmp_path)
    before, moment, calls, real = held(tmp_path), 0, 0, os.fsync

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > moment:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    while True:
        told = ""
        try:
            DOORS[door](bundle)
        except BundleError as error:
            told = str(error)
        calls = 0
        if not told:
            assert held(tmp_path) != before
            break
        assert str(tmp_path / "b") in told
        assert "disk is full" in told
        assert "Free some space" in told
        if door == "sync" and bundle.counts.added:
            break  # only the list of files could not be written; the next call reads them again
        assert held(tmp_path).items() <= before.items()
        assert door == "compact" or held(tmp_path) == before
        assert WritableBundle(bundle.path).ids() == bundle.ids() == ["a", "b", "c"]
        moment += 1
    assert moment > 2


def test_a_refused_write_leaves_nothing(tmp_path: Path) -> None:
    bundle, before = made(tmp_path, added=False), held(tmp_path)
    with pytest.raises(CollectionError, match="has not the fields"):
        bundle.add([{"id": "x", "text": "y", "tenant": "b"}], within={"tenant": "a"})
    assert held(tmp_path) == before
    assert not Path(locate_additions(tmp_path / "b")).exists()


@pytest.mark.parametrize("door", DOORS)
def test_what_killed_writers_left_goes_before_anything_is_written(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "new.txt").write_text("a new text")
    bundle = made(tmp_path)
    folder = Path(locate_additions(bundle.path))
    strays = [folder / name for name in ("000003-0a.zip", ".list.json.0b.partial", "000009.json")]
    for each in strays:
        each.write_bytes(bytes(1000))
    seen, real = list[bool](), os.fsync

    def look(descriptor: int) -> None:
        seen.append(any(each.exists() for each in strays))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    DOORS[door](bundle)
    assert not any(each.exists() for each in strays)
    assert seen.count(True) <= 1  # the folder is synced before they go
