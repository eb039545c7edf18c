"""Marks are on disk after every change, in a collection that everything else reads."""

import threading
from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.judgements.marks import Marks
from ranklet.runtime.ground.errors import CollectionError, InputError

DOCUMENTS = [Document("d1", "Bread", "Knead it."), Document("d2", "", "Oil the hinges.")]
TEXTS = ["knead dough", "squeaky door"]


def marks(folder: Path, *texts: str, split: str = "train") -> Marks:
    return Marks(folder, DOCUMENTS, texts or TEXTS, split)


def test_marks_of_two_judges_at_a_time_are_all_kept(tmp_path: Path) -> None:
    def judge(document: str) -> None:
        for _ in range(20):
            mine.mark("q1", {document: None})
            mine.mark("q1", {document: 1})

    mine, theirs = marks(tmp_path / "judged"), marks(tmp_path / "judged", "squeaky door", "oil")
    threads = [threading.Thread(target=judge, args=[name]) for name in ("d1", "d2")]
    for thread in threads:
        thread.start()
    for _ in range(20):
        theirs.mark("q3", {"d2": 0})
    for thread in threads:
        thread.join()
    assert mine.grades() == {"q1": {"d1": 1, "d2": 1}, "q3": {"d2": 0}}
    assert list((tmp_path / "judged").glob(".*")) == []


def test_every_mark_is_saved(tmp_path: Path) -> None:
    made = marks(tmp_path / "judged")
    collection = Collection(tmp_path / "judged")
    assert made.queries == [Query("q1", TEXTS[0]), Query("q2", TEXTS[1])]
    assert collection.qrels("train") == {}
    made.mark("q1", {"d1": 1})
    assert collection.qrels("train") == {"q1": {"d1": 1}}
    made.mark("q1", {"d1": 0, "d2": 1})
    made.mark("q2", {"d2": 1})
    assert made.grades() == collection.qrels("train")
    assert collection.qrels("train") == {"q1": {"d1": 0, "d2": 1}, "q2": {"d2": 1}}
    made.mark("q1", {"d2": None})
    assert [(each.id, each.relevant) for each in read_split(collection, "train")] == [
        ("q2", {"d2": 1})
    ]
    assert list(collection.documents()) == DOCUMENTS


def test_a_restart_goes_on_and_keeps_ids_and_marks(tmp_path: Path) -> None:
    folder = tmp_path / "judged"
    marks(folder).mark("q2", {"d2": 1})
    again = marks(folder, "new words", TEXTS[1], "new words")
    assert again.queries == [Query("q3", "new words"), Query("q2", TEXTS[1])]
    again.mark("q3", {"d1": 0})
    assert again.grades() == {"q2": {"d2": 1}, "q3": {"d1": 0}}
    assert [each.id for each in Collection(folder).queries("train")] == ["q1", "q2", "q3"]


def test_a_collection_that_has_judgements_keeps_them(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    theirs = {"train": ([Query("q1", "theirs")], {"q1": {"d1": 2}})}
    write_collection(folder, DOCUMENTS, theirs)
    made = marks(folder, "ours")
    made.mark("q2", {"d2": 1})
    assert Collection(folder).qrels("train") == {"q1": {"d1": 2}, "q2": {"d2": 1}}
    assert Collection(folder).queries("train") == [Query("q1", "theirs"), Query("q2", "ours")]


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (DOCUMENTS[:1], "document 2 is missing there and d2 in the bundle"),
        ([*DOCUMENTS, Document("d3", "", "x")], "document 3 is d3 there and missing in the bundle"),
        ([DOCUMENTS[0], Document("d2", "", "Other.")], "document 2 is d2, with another title or"),
    ],
)
def test_documents_of_another_bundle_are_refused(
    others: list[Document], message: str, tmp_path: Path
) -> None:
    write_collection(tmp_path / "other", others, {})
    with pytest.raises(CollectionError, match=message):
        marks(tmp_path / "other")


def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").touch()
    with pytest.raises(CollectionError, match="is no collection"):
        marks(tmp_path / "home")
    with pytest.raises(InputError, match=r"'train\[:90%\]': use only"):
        marks(tmp_path / "judged", split="train[:90%]")
    assert not (tmp_path / "judged").exists()
    made = marks(tmp_path / "judged")
    with pytest.raises(InputError, match="unknown query 'q9'"):
        made.mark("q9", {"d1": 1})
    with pytest.raises(InputError, match="must be 0, 1, 2, 3 or null"):
        made.mark("q1", {"d1": 4})
    assert made.grades() == {}
