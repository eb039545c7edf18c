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
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.graph import export_graph
from ranklet.export.rankers.srm.exporting import _graph, table_of
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.ranker import LightRanker
from ranklet.runtime.rankers.srm.settings import STATIC as ROWS_INPUT
from ranklet.runtime.rankers.srm.settings import SRMSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.srm.network import LightNetwork, load

if TYPE_CHECKING:
    from tokenizers import Tokenizer


TEXTS = ("red apple", "the old river is here", "")
STORED = ["stored int8", "stored int16"]
NETWORK, STATIC = ["fp32", "fp16", "int8", "table int8"], ["fp32", "table int8"]
CODES = ["stored codes"]
ROWS_OF_REPORTS = {
    "light": [*NETWORK, *STORED],
    "static": [*STATIC, *STORED],
    "single_codes": [*STATIC, *STORED, *CODES],
    "mixed_codes": [*NETWORK, *STORED, *CODES],
    "static_codes": [*STATIC, *STORED, *CODES],
    "top1_codes": [*STATIC, *STORED, *CODES],
    "idf": [*STATIC, *STORED, *CODES],
}

CODED = ("single_codes", "mixed_codes", "static_codes", "top1_codes")
NEAR = SRMSettings(dimension=16, sub_embeddings=3, context="neighbours")
TOKENS = 30


@pytest.mark.parametrize("name", ROWS["srm"].rankers)
def test_vectors_are_those_of_pytorch(tiny: TinyRankers, name: str) -> None:
    network = load(tiny.checkpoints("srm")[name])
    encoder = opened(tiny.exported("srm"), name, LightRanker).encoder
    # What serves has 8 bits only if a network reads the texts.
    near = 2e-5 if encoder.settings.static else 0.2
    for role in ("query", "document"):
        rows, _ = encoder.layout.rows(TEXTS, role)
        weights: list[Any] = [*encoder.sub_embedding_weights(rows)] or [None] * len(rows)
        for row, ours, own in zip(rows, encoder.run(rows, role), weights, strict=True):
            with torch.no_grad():
                found = network(*map(torch.from_numpy, encoder.feeds([row]).values()))
            for made, each in zip((ours, own), found, strict=True):
                assert (made is None) == (each is None)
                if made is not None:
                    expected = each[0].numpy()[row.kept]
                    largest = max(1, float(np.abs(expected).max(initial=0)))
                    np.testing.assert_allclose(made, expected, atol=near * largest)


class Rows:
    """A table of random rows for a text, its network, and the graph that is exported of it."""

    def __init__(self, settings: SRMSettings, tokenizer: "Tokenizer", path: Path) -> None:
        with seeded(0):
            self.network = LightNetwork(settings, None, TOKENS, [0, 1])
            with torch.no_grad():
                for values in self.network.parameters():
                    values.add_(torch.randn_like(values) * 0.4)  # so that every part has a say
        network = {"vocab_size": TOKENS}
        made = Checkpoint("srm", settings, tokenizer=tokenizer, weights={}, network=network)
        job = ExportJob(made, "a", None, FP32)  # type: ignore[arg-type]
        graph = _graph(job, self.network)
        export_graph(graph.module, graph.inputs, graph.output, path, None, graph.axes)
        self.network.eval()
        self.session = Session(path.read_bytes(), "graph", device="cpu")

    def both(self, ids: list[int], padding: int = 0) -> tuple[list[Any], list[Any]]:
        """Return vectors and weights of a text by PyTorch, which may pad it, and by the graph."""
        padded = torch.tensor([ids + [2] * padding])
        mask = torch.tensor([[1] * len(ids) + [0] * padding])
        static = self.network.light.sub_embeddings(padded).detach()
        with torch.no_grad():
            found = self.network(static, padded, mask)
        feeds = {
            ROWS_INPUT: static.numpy()[:, : len(ids)], "input_ids": np.array([ids]),
            "attention_mask": np.ones((1, len(ids)), np.int64),
        }  # fmt: skip
        made = [self.session.run(name, feeds)[0] for name in self.session.outputs]
        return [each[0, : len(ids)].numpy() for each in found if each is not None], made


@pytest.mark.parametrize(
    ("mixing", "window", "similarity"),
    [
        ("attention", 0, "dot"), ("attention", 1, "cosine"), ("attention", 100, "dot"),
        ("average", 0, "cosine"), ("average", 3, "dot"), ("top1", 0, "cosine"), ("top1", 1, "dot"),
    ],
)  # fmt: skip
def test_the_graph_computes_what_pytorch_does(
    mixing: str, window: int, similarity: str, tiny_tokenizer: "Tokenizer", tmp_path: Path
) -> None:
    settings = replace(NEAR, mixing=mixing, window=window, similarity=similarity)
    rows = Rows(settings, tiny_tokenizer, tmp_path / "graph.onnx")
    long = np.random.default_rng(1).integers(0, TOKENS, 300).tolist()
    for ids in ([0, 9, 3, 3, 1], [0, 1], [0], [1, 1, 0, 1, 7], long):  # 0 and 1 are special
        for padding in (0, 4):
            expected, made = rows.both(ids, padding)
            assert len(expected) == len(made) == (2 if settings.mixes else 1)
            for theirs, ours in zip(expected, made, strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-5 * max(1, np.abs(theirs).max()))
            if settings.mixes:
                np.testing.assert_allclose(made[1].sum(1), 1, rtol=1e-5)
                assert mixing != "top1" or {*np.unique(made[1])} == {0, 1}


def test_every_part_is_proven_and_every_stored_form_measured(tiny: TinyRankers) -> None:
    found = read_reports(tiny.exported("srm"))
    for name, variants in ROWS_OF_REPORTS.items():
        reports = {report.variant: report for report in found[name]}
        assert list(reports) == variants
        assert not any(report.refused for report in reports.values())
        assert reports["fp32"].max_error < 1e-3
        assert reports["table int8"].max_error < 0.1
        if "stored codes" in reports:
            assert reports["stored codes"].max_error < 0.2
            assert reports["stored codes"].bytes < reports["stored int8"].bytes


def test_only_files_that_serve_are_written(tiny: TinyRankers) -> None:
    folder = tiny.exported("srm") / "rankers"
    for name in ROWS["srm"].rankers:
        settings = opened(tiny.exported("srm"), name, LightRanker).settings
        variants = {"model.onnx"}
        if not settings.static:
            variants |= {"model_fp16.onnx", "model_int8.onnx"}
        assert {path.name for path in (folder / name).rglob("*")} == variants | {
            "report.json", "table.npy", "table.scales.npy", "tokenizer.json"
        }  # fmt: skip


def test_a_graph_without_an_oracle_is_small_and_in_32_bits(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("srm")["static"]
    path = export_bundle({"a": checkpoint}, tmp_path / "b", replace(FP32, variants=("int8",)))
    files = {each.name: each.stat().st_size for each in (Path(path) / "rankers" / "a").iterdir()}
    assert "model_int8.onnx" not in files
    settings = checkpoint.settings
    matrices = 8 * settings.dimension**2 + 4 * (settings.dimension // 2) ** 2  # at most
    assert files["model.onnx"] < 4 * matrices + 40_000  # the rows are not in it


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_mb": 0.001}, "the table of 'a' in 8 bits is out of tolerance.* MB > "),
        ({"max_ndcg_loss": 0.0}, "the table of 'a' in 8 bits is out of tolerance.*largest error"),
    ],
)
def test_what_is_out_of_tolerance_is_not_written(
    tiny: TinyRankers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    message: str,
) -> None:
    def coarse(table: Any) -> Any:
        return np.sign(table).astype(np.int8), np.full(len(table), 0.1, np.float32)

    if "max_mb" not in changes:
        monkeypatch.setattr("ranklet.export.rankers.srm.exporting.quantise_rows", coarse)
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    with pytest.raises(BuildError, match=message):
        export_bundle({"a": checkpoint}, tmp_path / "b", replace(FP32, **changes))
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


@pytest.mark.parametrize("name", ["light", "static", "idf"])
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
    table = table_of(checkpoint)
    expected = checkpoint.weights["light.table.weight"].reshape(50, 3, 16)
    assert table.values.shape == (50, 3, 16)
    error = np.abs(table.rows(np.arange(50)) - expected)
    assert (error <= np.abs(expected).max(2, keepdims=True) / 127 * 0.51).all()
