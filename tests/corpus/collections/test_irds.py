"""Collections of ir_datasets are written with their titles, queries and judgements."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ranklet.commands import main
from ranklet.corpus.collections import irds
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.irds import write_dataset
from ranklet.runtime.ground.errors import InputError

ir_datasets = pytest.importorskip("ir_datasets")


class Article(NamedTuple):
    """A document as that of a dataset with titles."""

    doc_id: str
    title: str
    abstract: str
    authors: tuple[str, ...] = ()

    def default_text(self) -> str:
        """Return all of it."""
        return f"{self.title} {self.abstract}"


@pytest.fixture
def named(tmp_path: Path) -> str:
    """Return the name of a dataset that is on this machine."""
    (tmp_path / "docs").write_text("a\tKnead the dough.\nb\tFeed the starter.\n")
    (tmp_path / "queries").write_text("q\thow to knead\n")
    (tmp_path / "qrels").write_text("q 0 a 2\nq 0 b 0\n")
    made = ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "docs"), queries_tsv=str(tmp_path / "queries"),
        qrels_trec=str(tmp_path / "qrels"),
    )  # fmt: skip
    name = f"ranklet-{tmp_path.name}"
    ir_datasets.registry.register(name, made)
    return name


def test_a_dataset_becomes_a_collection(named: str, tmp_path: Path) -> None:
    found = write_dataset(tmp_path / "c", {"test": named})
    assert [(each.id, each.title, each.text) for each in found.documents()] == [
        ("a", "", "Knead the dough."),
        ("b", "", "Feed the starter."),
    ]
    assert [(each.id, each.text) for each in found.queries("test")] == [("q", "how to knead")]
    assert found.qrels("test") == {"q": {"a": 2, "b": 0}}


def test_the_command_names_the_splits(named: str, tmp_path: Path) -> None:
    out = str(tmp_path / "c")
    assert main(["irds", f"dev={named}", named, "-o", out]) == 0
    assert Collection(out).splits() == ("dev", "test")
    assert main(["irds", named, named, "-o", out, "--force"]) == 1


def test_titles_stay_apart_from_texts(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: Any = ir_datasets.load(named)
    monkeypatch.setattr(loaded, "docs_iter", lambda: iter([Article("a", "Bread", "Knead.")]))
    monkeypatch.setattr(irds, "_load", lambda _: loaded)
    (document,) = write_dataset(tmp_path / "c", {"test": named}).documents()
    assert (document.title, document.text) == ("Bread", "Knead.")


def test_a_document_is_as_relevant_as_for_its_best_subtopic(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir_datasets.formats import TrecSubQrel

    loaded: Any = ir_datasets.load(named)
    rows = [TrecSubQrel("q", "a", grade, str(at)) for at, grade in enumerate((0, 2, -1))]
    monkeypatch.setattr(loaded, "qrels_iter", lambda: iter(rows))
    monkeypatch.setattr(irds, "_load", lambda _: loaded)
    assert write_dataset(tmp_path / "c", {"test": named}).qrels("test") == {"q": {"a": 2}}


def test_what_is_no_judged_dataset_is_refused(named: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no 'nothing'"):
        write_dataset(tmp_path / "c", {"test": "nothing"})
    with pytest.raises(InputError, match="no dataset was named"):
        write_dataset(tmp_path / "c", {})
    ir_datasets.registry.register(
        f"{named}-texts", ir_datasets.create_dataset(docs_tsv=str(tmp_path / "docs"))
    )
    with pytest.raises(InputError, match="has no queries; name a judged subset"):
        write_dataset(tmp_path / "c", {"test": f"{named}-texts"})
    assert not (tmp_path / "c").exists()
