"""A bundle holds what a folder holds, after any changes of its files."""

import json
import os
from pathlib import Path

import pytest

import ranklet
from ranklet.commands import main
from ranklet.corpus.updating.sync import STATE, sync
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
    monkeypatch.setattr(bundle, "change", lambda *_, **__: pytest.fail("nothing has changed"))
    assert sync(bundle, folder).unchanged == 4


def test_without_its_list_all_files_are_compared(folder: Path, bundle: WritableBundle) -> None:
    place = Path(f"{bundle}{STATE}")
    for content in ("", "[1]", "{"):
        place.write_text(content)
        (folder / "a.txt").write_text(f"Knead {content!r}.")
        counts = sync(bundle, folder)
        assert (counts.replaced, counts.deleted) == (1, 0)
    assert json.loads(place.read_text()).keys() == {"a.txt", "mail.mbox", "sub/b.md"}


def test_documents_that_others_added_stay(folder: Path, bundle: WritableBundle) -> None:
    bundle.add([{"id": "note", "text": "A note."}])
    (folder / "a.txt").unlink()
    assert sync(bundle, folder).deleted == 1
    assert set(bundle.ids()) == {"note", "mail.mbox#page=1", "mail.mbox#page=2", "sub/b.md"}


def test_what_is_no_folder_of_texts_is_refused(
    folder: Path, bundle: WritableBundle, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="is no folder; `ranklet update`"):
        sync(bundle, folder / "a.txt")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("id,text\na,dough\n")
    with pytest.raises(InputError, match="has tables"):
        sync(bundle, tmp_path / "tables")
    before = texts(bundle)
    (folder / "a.txt").write_text("Patch the tyre.")
    (folder / "bad.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(CollectionError, match=r"bad\.txt"):
        sync(bundle, folder)
    assert texts(bundle) == before
