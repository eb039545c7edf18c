"""The documents of a bundle, whole again after they were split into passages."""

from pathlib import Path

import pytest

from ranklet.export.build import build
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError
from ranklet.training.data.bundle_documents import joined, whole_documents
from ranklet.training.data.collection import Document
from ranklet.training.data.sources.options import SourceOptions

LONG = " ".join(f"Sentence {n} tells how bread {n} rises." for n in range(60))
SPLIT = SourceOptions(passage_words=40, overlap_words=12)


def test_passages_become_documents_again(tmp_path: Path) -> None:
    texts = [
        {"id": "long", "title": "Bread", "text": LONG},
        {"id": "short", "title": "", "text": "Dough rises."},
    ]
    documents = BundleFiles(build(texts, tmp_path / "b", options=SPLIT)).need_documents()
    assert len(documents) > documents.whole == 2
    assert list(whole_documents(documents)) == [
        Document("long", "Bread", LONG), Document("short", "", "Dough rises."),
    ]  # fmt: skip


def test_an_id_that_judgements_cannot_name_is_refused(tmp_path: Path) -> None:
    texts = [{"id": "my notes.txt", "text": "Dough rises."}]
    documents = BundleFiles(build(texts, tmp_path / "b")).need_documents()
    with pytest.raises(InputError, match=r"'my notes\.txt'.* --id-column -"):
        list(whole_documents(documents))


def test_only_what_both_have_is_left_out() -> None:
    assert joined("a b", "b c") == "a b c"
    assert joined("a a", "a a b") == "a a b"
    assert joined("", "a") == " a"
