"""A collection is stored as vectors or as codes, with the rarity of its tokens."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import FP32, TinyRankers, opened

from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.ranker import LightRanker
from ranklet.training.data.collection import Document

CODED = ("single_codes", "mixed_codes", "static_codes", "top1_codes")


def texts_of(path: Path, numbers: list[int]) -> list[str]:
    documents = BundleFiles(path).documents
    assert documents is not None
    return list(documents.ranked_texts(numbers))


@pytest.mark.parametrize("name", CODED)
def test_stored_codes_are_those_that_the_encoder_returns(tiny: TinyRankers, name: str) -> None:
    ranker = opened(tiny.indexed("srm"), name, LightRanker)
    numbers, store = [0, 17, 47], ranker.code_store
    offsets, codes, _ = ranker.encoder.codes(texts_of(tiny.indexed("srm"), numbers))
    for at, number in enumerate(numbers):
        begin, end = store.offsets[number : number + 2]
        own = slice(*offsets[at : at + 2])
        for ours, theirs in zip(store.codes, codes, strict=True):
            np.testing.assert_array_equal(ours[begin:end], theirs[own])


@pytest.mark.parametrize("name", ["light", "static", "oracle_documents", "idf"])
def test_stored_vectors_are_those_that_the_encoder_returns(tiny: TinyRankers, name: str) -> None:
    ranker = opened(tiny.indexed("srm"), name, LightRanker)
    numbers, store = [0, 17, 47], ranker.token_store
    made, _ = ranker.encoder.stored_vectors(texts_of(tiny.indexed("srm"), numbers))
    for at, number in enumerate(numbers):
        begin, end = store.offsets[number : number + 2]
        own = slice(*made.offsets[at : at + 2])
        for ours, theirs in zip(store.vectors, made.vectors, strict=True):
            np.testing.assert_array_equal(ours[begin:end], theirs[own])


def test_idf_counts_the_documents_in_which_a_token_has_a_vector(tiny: TinyRankers) -> None:
    ranker = opened(tiny.indexed("srm"), "idf", LightRanker)
    encoder = ranker.encoder
    assert encoder.idf is not None
    texts = texts_of(tiny.indexed("srm"), list(range(48)))
    for word in ("apple", "red", "the", "fortress"):
        (token,) = encoder.tokenizer.encode(word, add_special_tokens=False).ids
        rows, _ = encoder.layout.rows(texts, "document")
        df = sum(token in [row.ids[at] for at in row.kept] for row in rows)
        expected = np.log(1 + (48 - df + 0.5) / (df + 0.5))
        assert encoder.idf[token] == pytest.approx(expected, rel=1e-6)
    special = encoder.tokenizer.token_to_id("[CLS]")
    assert encoder.idf[special] == pytest.approx(np.log(1 + 48.5 / 0.5), rel=1e-6)


def test_what_a_document_takes_is_measured(tiny: TinyRankers) -> None:
    path = tiny.indexed("srm")
    for name, entry in BundleFiles(path).manifest.rankers.items():
        if name == "bm25":
            continue
        form = "codes" if name in CODED else "vectors"
        files = (path / "rankers" / name).glob(f"{form}.*.npy")
        bytes_per_document = sum(file.stat().st_size - 128 for file in files) / 48
        assert entry.measured["bytes_per_document"] == pytest.approx(bytes_per_document, abs=0.1)


def test_finished_blocks_are_not_encoded_again(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklet.export.document_encoding.BLOCK", 16)
    source = tmp_path / "codes"
    export_bundle({"single_codes": tiny.checkpoints("srm")["single_codes"]}, source, FP32)
    calls: list[int] = []
    original = LightEncoder.codes

    def stopping(self: Any, texts: Any) -> Any:
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, texts)

    monkeypatch.setattr(LightEncoder, "codes", stopping)
    with pytest.raises(KeyboardInterrupt):
        index_bundle(source, tiny.data.collection, tmp_path / "indexed")
    index_bundle(source, tiny.data.collection, tmp_path / "indexed")
    assert calls == [16, 16, 16, 16]
    ours, theirs = (
        opened(path, "single_codes", LightRanker).code_store.codes
        for path in (tmp_path / "indexed", tiny.indexed("srm"))
    )
    np.testing.assert_array_equal(ours.tokens, theirs.tokens)


def test_another_collection_replaces_codes_and_idf(tiny: TinyRankers, tmp_path: Path) -> None:
    class Few:
        name = "few"
        splitting = Splitting(0, 0)

        def documents(self) -> list[Document]:
            return [Document("a", "", "red apple"), Document("b", "", "red river")]

    path = index_bundle(tiny.indexed("srm"), Few(), tmp_path / "few")
    assert len(opened(path, "mixed_codes", LightRanker).code_store) == 2
    assert opened(path, "mixed_codes", LightRanker).code_store.offsets.tolist() == [0, 2, 4]
    idf = opened(path, "idf", LightRanker).encoder.idf
    assert idf is not None
    assert idf.max() == pytest.approx(np.log(1 + 2.5 / 0.5))
