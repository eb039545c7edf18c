"""A light ranker's parts are proven, and serve PyTorch's vectors."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.kinds import FP32, ROWS, TinyRankers, opened

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.rankers.srm.exporting import static_bytes, static_part
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.modules import matrix_shapes
from ranklet.runtime.rankers.srm.ranker import LightRanker
from ranklet.runtime.rankers.srm.settings import SRMSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.srm.network import LightNetwork, load

if TYPE_CHECKING:
    from tokenizers import Tokenizer


TEXTS = ("red apple", "the old river is here", "")
STORED = ["stored int8", "stored int8-pooled", "stored int16"]
NETWORK, STATIC, CODES = ["fp32", "fp16", "int8"], ["static int8"], ["stored codes"]
ROWS_OF_REPORTS = {
    "light": [*NETWORK, *STORED],
    "static": [*STATIC, *STORED],
    "single_codes": [*STATIC, *STORED, *CODES],
    "mixed_codes": [*NETWORK, *STORED, *CODES],
    "static_codes": [*STATIC, *STORED, *CODES],
    "top1_codes": [*STATIC, *STORED, *CODES],
    "oracle_documents": [*STATIC, *NETWORK, *STORED],
    "idf": [*STATIC, *STORED, *CODES],
}

CODED = ("single_codes", "mixed_codes", "static_codes", "top1_codes")

NEAR = SRMSettings(dimension=16, sub_embeddings=3, heads=2, context="neighbours")


@pytest.mark.parametrize("name", ROWS["srm"].rankers)
def test_vectors_are_those_of_pytorch(tiny: TinyRankers, name: str) -> None:
    network = load(tiny.checkpoints("srm")[name])
    encoder = opened(tiny.exported("srm"), name, LightRanker).encoder
    for role in ("query", "document"):
        module: Any = network
        if role == "document" and encoder.settings.documents == "oracle":
            module = network.oracle
        rows, _ = encoder.layout.rows(TEXTS, role)
        for row, ours in zip(rows, encoder.encode(TEXTS, role).vectors, strict=True):
            with torch.no_grad():
                found = module(*map(torch.from_numpy, row_feeds([row]).values()))
            vectors = found[0] if isinstance(found, tuple) else found
            expected = vectors[0].numpy()[row.kept]
            # The variants that serve have 8 bits.
            largest = max(1, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(ours, expected, atol=0.2 * largest)


def test_every_part_is_proven_and_every_stored_form_measured(tiny: TinyRankers) -> None:
    found = read_reports(tiny.exported("srm"))
    for name, variants in ROWS_OF_REPORTS.items():
        reports = {report.variant: report for report in found[name]}
        assert list(reports) == variants
        assert not any(report.refused for report in reports.values())
        if "fp32" in reports:
            assert reports["fp32"].max_error < 1e-3
        if "static int8" in reports:
            assert reports["static int8"].max_error < 0.1
        if "stored codes" in reports:
            assert reports["stored codes"].max_error < 0.2
            assert reports["stored codes"].bytes < reports["stored int8-pooled"].bytes


def test_only_files_that_serve_are_written(tiny: TinyRankers) -> None:
    folder = tiny.exported("srm") / "rankers"
    for name in ROWS["srm"].rankers:
        settings = opened(tiny.exported("srm"), name, LightRanker).settings
        files = {path.name for path in (folder / name).rglob("*")}
        assert ("model_int8.onnx" in files) == (not settings.static_documents)
        assert ("table.npy" in files) == settings.has_table
        assert ("neighbours.maps.npy" in files) == (
            settings.context == "neighbours" and settings.needs_context
        )


def test_a_static_part_out_of_tolerance_is_not_written(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    small = replace(FP32, max_mb=0.001)
    with pytest.raises(BuildError, match=r"the static part of 'a' is out of tolerance.* MB > "):
        export_bundle({"a": checkpoint}, tmp_path / "b", small)
    assert not (tmp_path / "b").exists()


def test_a_table_with_too_few_rows_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    weights = {**checkpoint.weights}
    weights["light.table.weight"] = weights["light.table.weight"][:-9]
    few = replace(checkpoint, weights=weights, network={})
    with pytest.raises(BuildError, match="but the table has"):
        export_bundle({"a": few}, tmp_path / "b", FP32)


def test_the_stored_form_and_idf_are_chosen_by_the_export(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    chosen = replace(FP32, settings={"stored": "int16", "idf": True})
    settings = opened(
        Path(export_bundle({"a": checkpoint}, tmp_path / "b", chosen)), "a", LightRanker
    ).settings
    assert (settings.stored, settings.idf) == ("int16", True)


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
        assert encoder.idf[token] == pytest.approx(expected, rel=1e-5)
    special = encoder.tokenizer.token_to_id("[CLS]")
    assert encoder.idf[special] == pytest.approx(np.log(1 + 48.5 / 0.5), rel=1e-5)


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
    monkeypatch.setattr("ranklet.corpus.building.document_encoding.BLOCK", 16)
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
        types: Mapping[str, str] = MappingProxyType({})

        def documents(self) -> list[Document]:
            return [Document("a", "", "red apple"), Document("b", "", "red river")]

    path = Path(index_bundle(tiny.indexed("srm"), Few(), tmp_path / "few"))
    assert len(opened(path, "mixed_codes", LightRanker).code_store) == 2
    assert opened(path, "mixed_codes", LightRanker).code_store.offsets.tolist() == [0, 2, 4]
    idf = opened(path, "idf", LightRanker).encoder.idf
    assert idf is not None
    assert idf.max() == pytest.approx(np.log(1 + 2.5 / 0.5))


def checkpoint_of(settings: SRMSettings, tokenizer: "Tokenizer") -> Checkpoint:
    with seeded(0):
        network = LightNetwork(settings, None, 50, [0])
    weights = {name: values.numpy() for name, values in network.state_dict().items()}
    weights["light.table.weight"][:, :16] *= 100  # the first sub-embedding is much longer
    return Checkpoint("srm", settings, tokenizer=tokenizer, weights=weights)


def test_every_sub_embedding_is_as_precise_as_8_bits_allow(tiny_tokenizer: "Tokenizer") -> None:
    checkpoint = checkpoint_of(NEAR, tiny_tokenizer)
    table = static_part(checkpoint, tiny_tokenizer).table
    expected = checkpoint.weights["light.table.weight"].reshape(50, 3, 16)
    assert table.values.shape == (50, 3, 16)
    error = np.abs(table.rows(np.arange(50)) - expected)
    assert (error <= np.abs(expected).max(2, keepdims=True) / 127 * 0.51).all()


@pytest.mark.parametrize(
    ("settings", "matrices"),
    [
        (NEAR, True),
        (replace(NEAR, documents="oracle"), True),
        (replace(NEAR, context="oracle"), False),
        (replace(NEAR, mixing="average", window=0), False),
    ],
)
def test_matrices_are_those_that_serving_needs(
    settings: SRMSettings, matrices: bool, tiny_tokenizer: "Tokenizer"
) -> None:
    static = static_part(checkpoint_of(settings, tiny_tokenizer), tiny_tokenizer)
    assert {*static.matrices} == ({*matrix_shapes(settings)} if matrices else set())
    numbers = sum(each.size for each in static.matrices.values())
    assert static_bytes(static) == 50 * 3 * (16 + 4) + 4 * numbers
