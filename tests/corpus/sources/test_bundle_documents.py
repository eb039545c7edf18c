"""The documents of a bundle, whole again after they were split into passages."""

from itertools import pairwise
from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources.bundle_documents import added, whole_documents
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.passages import passages
from ranklet.export.build import build
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.errors import InputError

LONG = " ".join(f"Sentence {n} tells how bread {n} rises." for n in range(60))
SPLIT = SourceOptions(passage_words=40, overlap_words=12)


def test_passages_become_documents_again(tmp_path: Path) -> None:
    texts = [
        {"id": "long", "title": "Bread", "text": LONG},
        {"id": "short", "title": "", "text": "Dough rises."},
    ]
    bundle = BundleFiles(build(texts, tmp_path / "b", options=SPLIT))
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


@pytest.mark.parametrize("overlap", [0, 3])
def test_words_without_a_full_stop_are_joined_as_they_were(overlap: int) -> None:
    """Letters that end one passage and begin the next one are no overlap."""
    text = " ".join(["tall cat", "tea art", "star rat", "late eat"] * 9)
    parts = passages(text, 7, overlap)
    new = (added(a, b, Splitting(7, overlap)) for a, b in pairwise(parts))
    assert parts[0] + "".join(new) == text
