"""Encoding a collection: block by block, and on from the last block."""

from pathlib import Path

import pytest
from tests.kinds import TinyRankers

from ranklet.export import document_encoding
from ranklet.export.bundles import index_bundle
from ranklet.runtime.rankers.repbert import RepBERT


def test_an_interrupted_index_goes_on_where_it_was(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported, collection = tiny.exported("repbert"), tiny.data.collection
    monkeypatch.setattr(document_encoding, "BLOCK", 16)
    encode = RepBERT.encode_documents
    done: list[int] = []

    def interrupted(self: RepBERT, texts: list[str]) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(RepBERT, "encode_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index_bundle(exported, collection, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    again: list[int] = []

    def counted(self: RepBERT, texts: list[str]) -> object:
        again.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(RepBERT, "encode_documents", counted)
    index_bundle(exported, collection, tmp_path / "b")
    assert len(again) == 1  # 48 documents in blocks of 16: two were kept
    assert [each.name for each in tmp_path.iterdir()] == ["b"]
