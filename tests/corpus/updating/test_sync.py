"""A bundle holds what a folder holds, after any changes of its files."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ranklet
from ranklet.commands import main
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating import synced_files
from ranklet.corpus.updating.sync import sync
from ranklet.corpus.updating.synced_files import list_path
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import CollectionError, InputError

MAIL = "From a@b.example Mon Nov 23 10:00:00 2026\nSubject: {}\n\n{}\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "texts"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("Knead the dough.")
    (root / "sub" / "b.md").write_text("# Starter\n\nFeed the starter.")
    (root / "mail.mbox").write_text(MAIL.format("One", "A zebra.") + MAIL.format("Two", "A lion."))
    return root


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> WritableBundle:
    assert main(["sync", str(folder), str(tmp_path / "s.ranklet")]) == 0
    return WritableBundle(tmp_path / "s.ranklet")


def texts(bundle: WritableBundle) -> dict[str, str]:
    return {id_: bundle.document(id_).text for id_ in bundle.ids()}


def fresh(folder: Path, place: Path) -> dict[str, str]:
    ranklet.build(folder, place, overwrite=True)
    return texts(WritableBundle(place))


def test_every_change_of_the_folder_arrives(
    folder: Path, bundle: WritableBundle, tmp_path: Path
) -> None:
    assert len(bundle) == 4
    assert sync(bundle, folder).unchanged == 4
    (folder / "a.txt").write_text("Patch the tyre.")
    (folder / "c.txt").write_text("Soak the beans.")
    (folder / "sub" / "b.md").unlink()
    (folder / "mail.mbox").write_text(MAIL.format("One", "A giraffe."))
    counts = sync(bundle, folder)
    assert (counts.added, counts.replaced, counts.deleted) == (1, 2, 2)
    assert texts(bundle) == fresh(folder, tmp_path / "fresh")
    assert [hit.id for hit in bundle.rank("giraffe")] == ["mail.mbox#page=1"]
    counts = sync(bundle, folder)
    assert (counts.added, counts.replaced, counts.deleted) == (0, 0, 0)


def test_only_files_of_another_time_and_digest_are_read(
    folder: Path, bundle: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(folder / "a.txt", ns=(1, 1))
    bundle.add([{"id": "note", "text": "Of another program."}])  # which leaves the files' alone
    monkeypatch.setattr(bundle, "change", lambda *_, **__: pytest.fail("nothing has changed"))
    assert sync(bundle, folder).unchanged == 5


@pytest.mark.parametrize("tick", [0, synced_files.TICK])
def test_a_change_that_keeps_size_and_time_is_seen(
    folder: Path, bundle: WritableBundle, monkeypatch: pytest.MonkeyPatch, tick: int
) -> None:
    monkeypatch.setattr(synced_files, "TICK", tick)
    path = folder / "a.txt"
    for text in ("Knead the batch.", "Knead the pasta."):
        path.write_text(text)
        if not tick:
            os.utime(path, ns=(1, 1))
        elif text.endswith("pasta."):  # as if all was within a tick of the clock
            found = path.stat()
            raw = json.loads(list_path(bundle).read_text())
            ((_, own),) = raw.items()
            own["files"]["a.txt"][2:4] = found.st_ctime_ns, found.st_ino
            list_path(bundle).write_text(json.dumps(raw))
        sync(bundle, folder)
        assert bundle.document("a.txt").text == text


def test_without_its_list_all_files_are_compared(
    folder: Path, bundle: WritableBundle, caplog: pytest.LogCaptureFixture
) -> None:
    for content in ("", "[1]", '{"x": {"files": 1}}'):
        list_path(bundle).write_text(content)
        (folder / "a.txt").write_text(f"Knead {content!r}.")
        counts = sync(bundle, folder)
        assert (counts.replaced, counts.deleted, caplog.messages) == (1, 0, [])
    list_path(bundle).unlink()
    (folder / "a.txt").unlink()
    assert sync(bundle, folder).deleted == 0
    assert "documents of no file stay: 1 ('a.txt')" in caplog.text


def rebuild(folder: Path, bundle: Path) -> None:
    del folder
    ranklet.build([{"id": "other", "text": "Of another text."}], bundle, overwrite=True)


def index(folder: Path, bundle: Path) -> None:
    (folder.parent / "other.csv").write_text("id,text\nother,Of another text.\n")
    WritableBundle(bundle).compact()
    place = str(bundle)
    assert main(["index", place, str(folder.parent / "other.csv"), "-o", place, "--force"]) == 0


def restore(folder: Path, bundle: Path) -> None:
    (folder / "sub" / "b.md").unlink()
    assert main(["sync", str(folder), str(bundle)]) == 0
    WritableBundle(bundle).restore(0)


def delete(folder: Path, bundle: Path) -> None:
    del folder
    WritableBundle(bundle).delete(["a.txt"]).add([{"id": "sub/b.md", "text": "Of another."}])


def replace_by_another(folder: Path, bundle: Path) -> None:
    shutil.rmtree(bundle)
    ranklet.build([{"id": "a.txt", "text": "Of another text."}], folder.parent / "copied")
    (folder.parent / "copied").rename(bundle)


@pytest.mark.slow
@pytest.mark.parametrize("change", [rebuild, index, restore, delete, replace_by_another])
def test_of_another_version_all_files_are_compared(
    folder: Path, bundle: WritableBundle, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    (folder / "a.txt").write_text("Knead the dough at noon.")
    sync(bundle, folder)
    change(folder, Path(bundle))
    sync(bundle, folder)
    held = texts(bundle)
    held.pop("other", None)
    assert held == fresh(folder, tmp_path / "fresh")


def test_documents_that_others_added_stay(folder: Path, bundle: WritableBundle) -> None:
    bundle.add([{"id": "note", "text": "A note."}])
    (folder / "a.txt").unlink()
    assert sync(bundle, folder).deleted == 1
    assert set(bundle.ids()) == {"note", "mail.mbox#page=1", "mail.mbox#page=2", "sub/b.md"}


def test_compacting_leaves_the_list_valid(
    folder: Path, bundle: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.txt").write_text("Patch the tyre.")
    sync(bundle, folder)
    bundle.compact()
    monkeypatch.setattr(bundle, "change", lambda *_, **__: pytest.fail("nothing has changed"))
    assert sync(bundle, folder).unchanged == 4


def break_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    (folder / "sub" / "b.md").unlink()
    (folder / "sub" / "b.md").symlink_to(folder / "sub" / "none.md")
    return "b.md (is a link to nothing)"


def forbid_listing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    listed = os.scandir

    def scan(path: str) -> object:
        if path.endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scan)
    return f"{folder / 'sub'} (cannot be read (Permission denied))"


def forbid_reading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "sub" / "b.md").write_text("Another text, which nobody can read.")
    opened: Callable[..., object] = Path.open

    def open_(path: Path, *given: str, **options: Any) -> object:
        if path.name == "b.md":
            raise OSError(5, "Input/output error")
        return opened(path, *given, **options)

    monkeypatch.setattr(Path, "open", open_)
    return "b.md (cannot be read (Input/output error)"


def unmount(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "sub" / "b.md").unlink()
    monkeypatch.setattr(os.path, "ismount", lambda _: False)
    return "not mounted any more"


def damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    (folder / "sub" / "b.md").write_bytes(b"\xff\xfe\xff")
    return "byte order mark"


@pytest.mark.parametrize("hide", [break_link, forbid_listing, forbid_reading, unmount, damage])
def test_what_cannot_be_read_is_not_gone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hide: Callable[..., str]
) -> None:
    if hide is unmount:
        monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("sub"))
    assert main(["sync", str(folder), str(tmp_path / "s.ranklet")]) == 0
    bundle = WritableBundle(tmp_path / "s.ranklet")
    before = texts(bundle)
    (folder / "a.txt").unlink()
    with pytest.MonkeyPatch.context() as patched:
        said = hide(folder, patched)
        with pytest.raises(CollectionError) as raised:
            sync(bundle, folder)
        assert said in str(raised.value)
        assert texts(bundle) == before
        assert sync(bundle, folder, SourceOptions(skip_bad=True)).deleted == 1
        assert said in " ".join(bundle.skipped)
        with pytest.raises(CollectionError):  # although nothing else has changed since
            sync(bundle, folder)
        assert texts(bundle) == {name: before[name] for name in before.keys() - {"a.txt"}}
    shutil.rmtree(folder / "sub")
    sync(bundle, folder)
    assert set(bundle.ids()) == {"mail.mbox#page=1", "mail.mbox#page=2"}


def test_what_cannot_be_read_is_named_each_time(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(folder, pytest.MonkeyPatch())
    for _ in range(2):
        assert main(["sync", str(folder), str(tmp_path / "s.ranklet"), "--skip-bad"]) == 0
        assert "b.md (begins with the byte order mark" in capsys.readouterr().out
    assert main(["sync", str(folder), str(tmp_path / "s.ranklet")]) == 1
    assert "b.md (begins with the byte order mark" in capsys.readouterr().err


def test_files_that_are_named_like_pages_are_files(folder: Path, bundle: WritableBundle) -> None:
    for name in ("a#page=1.txt", "a#page=2.txt", "a.txt#page=1.mbox"):
        (folder / name).write_text(MAIL.format(name, name))
    assert sync(bundle, folder).added == 3
    (folder / "a#page=1.txt").unlink()
    (folder / "a.txt").write_text("Patch the tyre.")
    counts = sync(bundle, folder)
    assert (counts.replaced, counts.deleted) == (1, 1)
    assert {"a.txt", "a#page=2.txt", "a.txt#page=1.mbox#page=1"} < set(bundle.ids())


def test_a_bundle_is_synced_with_several_folders(
    folder: Path, bundle: WritableBundle, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "c.txt").write_text("Soak the beans.")
    assert sync(bundle, second).added == 1
    caplog.clear()
    for each in (folder, second):
        counts = sync(bundle, each)
        assert (counts.unchanged, counts.deleted, caplog.messages) == (5, 0, [])
    (second / "a.txt").write_text("Another text.")
    with pytest.raises(InputError, match=r"'a\.txt' would replace what the bundle has of"):
        sync(bundle, second)
    (second / "a.txt").rename(second / "d.txt")
    (second / "c.txt").unlink()
    counts = sync(bundle, second)
    assert (counts.added, counts.deleted) == (1, 1)
    folder.rename(tmp_path / "moved")
    counts = sync(bundle, tmp_path / "moved")
    assert (counts.unchanged, counts.added, counts.deleted, caplog.messages) == (5, 0, 0, [])


def test_what_is_no_folder_of_texts_is_refused(
    folder: Path, bundle: WritableBundle, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="is no folder; give the one that it lies in"):
        sync(bundle, folder / "a.txt")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("id,text\na,dough\n")
    with pytest.raises(InputError, match="4 of 4 documents would be deleted"):
        sync(bundle, tmp_path / "tables")
    before = texts(bundle)
    (folder / "a.txt").write_text("Patch the tyre.")
    (folder / "bad.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(CollectionError, match=r"bad\.txt"):
        sync(bundle, folder)
    assert texts(bundle) == before
