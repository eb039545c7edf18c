"""The documents of a bundle, whole again after they were split into passages."""

from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources.bundle_documents import whole_documents
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.build import build

LONG = " ".join(f"Sentence {n} tells how bread {n} rises." for n in range(60))
SPLIT = SourceOptions(passage_words=40, overlap_words=12)


def test_passages_become_documents_again(tmp_path: Path) -> None:
    texts = [
        {"id": "long", "title": "Bread", "text": LONG},
        {"id": "short", "title": "", "text": "Dough rises."},
    ]
    bundle = BundleFiles(build(texts, tmp_path / "b", source=SPLIT))
    documents = bundle.need_documents()
    assert len(documents) > documents.whole == 2
    assert list(whole_documents(bundle)) == [
        Document("long", "Bread", LONG), Document("short", "", "Dough rises."),
    ]  # fmt: skip


def test_an_id_that_judgements_cannot_name_is_refused(tmp_path: Path) -> None:
    texts = [{"id": "my\tnotes.txt", "text": "Dough rises."}]
    bundle = BundleFiles(build(texts, tmp_path / "b"))
    with pytest.raises(InputError, match=r"'my\\tnotes\.txt'.* --id-column -"):
        list(whole_documents(bundle))
