"""Encoding a collection: block by block, and on from the last block."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kinds import TinyRankers

from ranklet.corpus.building import document_encoding
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import index_bundle
from ranklet.corpus.indexing.analysed import analyse
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.runtime.rankers.epic import EPICEncoders


@pytest.mark.parametrize(("kind", "encoder"), [("dense", DenseEncoder), ("epic", EPICEncoders)])
def test_an_interrupted_index_continues_where_it_stopped(
    kind: str, encoder: Any, tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported, collection = tiny.exported(kind), tiny.data.collection
    monkeypatch.setattr(document_encoding, "BLOCK", 16)
    encode = encoder.encode_documents
    blocks: list[int] = []

    def interrupted(self: object, texts: list[str]) -> object:
        if len(blocks) == 2:
            raise KeyboardInterrupt
        blocks.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(encoder, "encode_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index_bundle(exported, collection, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    more: list[int] = []

    def counted(self: object, texts: list[str]) -> object:
        more.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(encoder, "encode_documents", counted)
    target = index_bundle(exported, collection, tmp_path / "b")
    assert more == [16]  # 48 documents in blocks of 16: two were there
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    whole = BundleFiles(tiny.indexed(kind)).manifest.files
    assert BundleFiles(target, check="full").manifest.files == whole


def test_rows_are_not_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_encoding, "BLOCK", 100)
    count, dimension = 3_000, 512
    documents = [Document(f"d{at}", "", f"word{at}") for at in range(count)]
    analysed = analyse(documents, ["words"])

    def encode(texts: list[str]) -> tuple[NDArray[np.float32], list[int]]:
        numbers = [float(text.removeprefix("word")) for text in texts]
        return np.repeat(np.array(numbers, np.float32), dimension).reshape(-1, dimension), [1]

    tracemalloc.start()
    try:
        found = document_encoding.encode_documents(
            encode, "digest", (dimension,), np.float32, analysed, "dense", tmp_path
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.rows.shape == (count, dimension)
    assert np.array_equal(found.rows[:, 7], np.arange(count))
    assert found.cut.tolist() == list(range(1, count, 100))
    assert peak < found.rows.nbytes / 3
