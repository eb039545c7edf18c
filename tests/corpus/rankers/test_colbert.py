"""A collection is stored as the vectors of its tokens."""

from pathlib import Path

import numpy as np
import pytest
from tests.kinds import FP32, TinyRankers, opened

from ranklet.corpus.index import index_bundle
from ranklet.corpus.rankers import colbert as indexing
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.colbert.ranker import ColBERT


@pytest.mark.slow
@pytest.mark.parametrize("name", ["colbert", "expanded", "dot"])
def test_stored_vectors_are_those_that_the_encoder_returns(tiny: TinyRankers, name: str) -> None:
    ranker = opened(tiny.indexed("colbert"), name, ColBERT)
    documents = BundleFiles(tiny.indexed("colbert")).documents
    assert documents is not None
    texts = documents.read_ranked_texts([0, 17, 47])
    encoded = ranker.encoder.encode_stored(texts)[0]
    for at, number in enumerate((0, 17, 47)):
        begin, end = ranker.token_store.offsets[number : number + 2]
        own = slice(*encoded.offsets[at : at + 2])
        for ours, theirs in zip(ranker.token_store.vectors, encoded.vectors, strict=True):
            np.testing.assert_array_equal(ours[begin:end], theirs[own])


def test_what_a_document_takes_is_measured(tiny: TinyRankers) -> None:
    path = tiny.indexed("colbert")
    for name, entry in BundleFiles(path).manifest.rankers.items():
        if name == "bm25":
            continue
        files = (path / "rankers" / name).glob("vectors.*.npy")
        bytes_per_document = sum(file.stat().st_size - 128 for file in files) / 48
        assert entry.measured["bytes_per_document"] == pytest.approx(bytes_per_document, abs=0.1)
        assert entry.measured["truncated"] == 0
    measured = {name: each.measured for name, each in BundleFiles(path).manifest.rankers.items()}
    whole, fewer = (measured[name]["vectors_per_document"] for name in ("expanded", "dot"))
    assert fewer < whole  # it has no special tokens


@pytest.mark.slow
def test_a_large_collection_without_an_index_is_warned_of(
    tiny: TinyRankers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(indexing, "EXHAUSTIVE", 100)
    rankers = tiny.checkpoints("colbert")
    alone = {"colbert": rankers["colbert"]}
    for names, warned in ((alone, True), ({**alone, "bm25": rankers["bm25"]}, False)):
        caplog.clear()
        exported = export_bundle(names, tmp_path / f"e{warned}", FP32)
        index_bundle(exported, tiny.data.collection, tmp_path / f"i{warned}")
        assert ("export also a ranker with an index" in caplog.text) == warned
