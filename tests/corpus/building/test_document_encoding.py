"""Encoding a collection: block by block, and on from the last block."""

from pathlib import Path
from typing import Any

import pytest
from tests.kinds import TinyRankers

from ranklet.corpus.building import document_encoding
from ranklet.corpus.index import index_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.runtime.rankers.epic import EPICEncoders


@pytest.mark.slow
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
