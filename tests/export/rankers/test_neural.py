"""Neural rankers the whole way: checkpoint → proven variants → index → rank."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.commands import main
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.errors import ExportError
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.rankers.repbert import RepBERT
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.text_pairs import BatchOptions
from ranklet.training.pretrained.backbone import Backbone
from ranklet.training.rankers import bm25, repbert
from ranklet.training.rankers.neural_model1 import training as neural_model1
from ranklet.training.rankers.neural_model1.pairs import PairOptions

LOOSE = ExportOptions(variants=("fp32", "fp16", "int8"), max_ndcg_loss=0.5)
HYBRID: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 20},
    {"stage": "retrieve", "ranker": "dense", "k": 20},
    {"stage": "rescore", "ranker": "neural"},
    {
        "stage": "fuse",
        "method": "linear",
        "inputs": ["bm25", "dense", "neural"],
        "weights": [0.5, 0.1, 0.4],
    },
]


@pytest.fixture(scope="module")
def checkpoints(
    tiny_collection: Collection, tiny_analysed: AnalysedCollection, tiny_bert: Path
) -> dict[str, Checkpoint]:
    from ranklet.training.pretrained.backbone import load_backbone

    queries, dev = read_split(tiny_collection, "train"), read_split(tiny_collection, "dev")
    short = BatchOptions(batch=8, max_query_tokens=12, max_document_tokens=16)
    plan = replace(repbert.PLAN, learning_rate=1e-3, epochs=3, device="cpu")
    dense = repbert.train(
        tiny_collection, queries, dev, backbone=load_backbone(tiny_bert), plan=plan, data=short
    )
    plan = replace(neural_model1.PLAN, epochs=4, device="cpu")
    neural = neural_model1.train(
        tiny_analysed, queries, dev, plan=plan, data=PairOptions(batch=4), vector=8, hidden=(8, 4)
    )
    return {"bm25": bm25.train(tiny_analysed, queries), "dense": dense, "neural": neural}


@pytest.fixture(scope="module")
def exported(checkpoints: dict[str, Checkpoint], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_bundle(checkpoints, tmp_path_factory.mktemp("neural") / "rankers", LOOSE)


@pytest.fixture(scope="module")
def indexed(exported: Path, tiny_collection: Collection) -> Bundle:
    target = exported.with_name("indexed.ranklet")
    return load(index_bundle(exported, tiny_collection, target), device="cpu")


def test_every_variant_is_proven_and_the_proof_is_in_the_bundle(exported: Path) -> None:
    reports = read_reports(exported)
    assert [each.variant for each in reports["dense"]] == ["fp32", "fp16", "int8"]
    assert [each.variant for each in reports["neural"]] == ["table", "fp32", "fp16"]
    fp32 = reports["dense"][0]
    assert fp32.max_error < 1e-4
    assert fp32.overlap == 1
    assert fp32.fused["Attention"] == 2
    for each in (*reports["dense"], *reports["neural"]):
        assert each.batch_error < 1e-5  # the comparison's own rounding
        assert each.pairs > 500
    sizes = {each.variant: each.bytes for each in reports["dense"]}
    assert max(sizes["int8"], sizes["fp16"]) < sizes["fp32"]


def test_onnx_gives_pytorchs_vectors(exported: Path, checkpoints: dict[str, Checkpoint]) -> None:
    import torch

    bundle = BundleFiles(exported, device="cpu")
    ranker = bundle.ranker("dense")
    module = repbert.load(checkpoints["dense"])
    text = "the old river is old here"
    assert isinstance(checkpoints["dense"].tokenizer, object)
    ids, _ = ranker.encoder.token_ids([text], 16)  # type: ignore[attr-defined]
    tokens = torch.tensor(ids)
    with torch.inference_mode():
        wanted = module(tokens, torch.ones_like(tokens), torch.ones_like(tokens))[0].numpy()
    found = ranker.encode_documents([text]).vectors[0]  # type: ignore[attr-defined]
    cosine = found @ wanted / np.linalg.norm(found) / np.linalg.norm(wanted)
    assert cosine > 0.98  # int8 is what a processor runs


def test_documents_encoded_side_by_side_have_the_same_vectors(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = BundleFiles(exported, device="cpu")
    texts = ["the old river", "", "a quiet stream " * 9, "here"] * 4
    wanted = RepBERT.open(bundle, "dense").encode_documents(texts).vectors
    monkeypatch.setenv("RANKLET_THREADS", "3")
    ranker = RepBERT.open(bundle, "dense", many=True)
    assert ranker.encoder.session.workers == 3
    np.testing.assert_array_equal(ranker.encode_documents(texts).vectors, wanted)


def test_the_sparse_table_scores_as_the_network_does(exported: Path) -> None:
    table, network = read_reports(exported)["neural"][:2]
    assert network.max_error < 1e-4
    assert table.ndcg >= table.torch_ndcg - 0.02


def test_a_hybrid_pipeline_ranks_explains_and_names_its_providers(indexed: Bundle) -> None:
    ranking = indexed.rank("quiet stream", k=5, pipeline=HYBRID, explain=True)
    assert len(ranking) == 5
    assert ranking.providers == {"dense": "CPUExecutionProvider", "neural": "numpy"}
    for hit in ranking:
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)


def test_a_text_scores_the_same_alone_among_others_and_stored(indexed: Bundle) -> None:
    recipe = [{"stage": "retrieve", "ranker": "dense", "k": 5}]
    hits = indexed.rank("bright world", k=20, pipeline=recipe)
    own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in hits]
    together = indexed.score("bright world", own, pipeline=recipe)
    alone = [indexed.score("bright world", [each], pipeline=recipe)[0] for each in own]
    assert together.tolist() == alone
    np.testing.assert_allclose(together, [hit.score for hit in hits], rtol=1e-5)


def test_without_a_collection_the_callers_texts_are_ranked(exported: Path) -> None:
    bundle = Bundle(exported, device="cpu")
    texts = ["the old river", "the red apple", "the small castle"]
    recipe = [{"stage": "retrieve", "ranker": "dense", "k": 5}]
    assert len(bundle.rank("old stream", texts, pipeline=recipe)) == 3
    with pytest.raises(BundleError, match="no collection"):
        bundle.rank("old stream", pipeline=recipe)


def test_verify_finds_the_bundle_whole(indexed: Bundle, exported: Path) -> None:
    assert "ranker dense" in list(verify(exported.with_name("indexed.ranklet")))


def test_hnsw_is_built_where_the_settings_say_so(
    checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path
) -> None:
    dense = checkpoints["dense"]
    dense = replace(dense, settings=replace(dense.settings, search="hnsw"))
    only = ExportOptions(variants=("fp32",))
    export_bundle({"dense": dense}, tmp_path / "rankers", only)
    target = index_bundle(tmp_path / "rankers", tiny_collection, tmp_path / "indexed")
    bundle = load(target, device="cpu")
    assert bundle.manifest.rankers["dense"].settings["recall"] >= 0.98
    assert bundle.manifest.files["rankers/dense/hnsw.bin"].bytes > 0
    assert len(bundle.rank("quiet stream", k=3)) == 3
    assert "ranker dense" in list(verify(target))


def test_a_variant_out_of_tolerance_is_not_written_and_the_exit_status_says_so(
    checkpoints: dict[str, Checkpoint],
    exported: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved = checkpoints["dense"].save(tmp_path / "dense")
    sizes = {each.variant: each.bytes for each in read_reports(exported)["dense"]}
    between = (sizes["fp32"] + sizes["int8"]) / 2e6
    arguments = ["export", str(saved), "-o", str(tmp_path / "b"), "--max-ndcg-loss", "0.5"]
    assert main([*arguments, "--max-mb", f"{between:.6f}"]) == 3
    assert "REFUSED" in capsys.readouterr().out
    assert not BundleFiles(tmp_path / "b").has("rankers/dense/model.onnx")
    assert BundleFiles(tmp_path / "b").has("rankers/dense/model_int8.onnx")


def test_where_no_variant_holds_nothing_is_written(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    tight = ExportOptions(variants=("fp32",), max_mb=1e-6)
    with pytest.raises(ExportError, match="no variant is within"):
        export_bundle({"dense": checkpoints["dense"]}, tmp_path / "b", tight)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_not_finite_are_refused(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    dense = checkpoints["dense"]
    name, values = next(iter(dense.weights.items()))
    broken = replace(dense, weights={**dense.weights, name: np.full_like(values, np.nan)})
    with pytest.raises(InputError, match="finite"):
        export_bundle({"dense": broken}, tmp_path / "b", LOOSE)


def test_without_probes_there_is_no_proof(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match="--probes"):
        export_bundle({"dense": replace(checkpoints["dense"], probes=None)}, tmp_path / "b")


@pytest.mark.parametrize("variants", [(), ("int4",), ("fp32", "bf16")])
def test_unknown_variants_are_told(variants: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="allowed are fp32, fp16, int8"):
        ExportOptions(variants=variants)


def test_an_interrupted_index_goes_on_where_it_was(
    exported: Path, tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ranklet.export import document_encoding as encoding
    from ranklet.runtime.rankers.repbert import RepBERT

    monkeypatch.setattr(encoding, "BLOCK", 16)
    encode = RepBERT.encode_documents
    done: list[int] = []

    def interrupted(self: RepBERT, texts: list[str]) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(RepBERT, "encode_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index_bundle(exported, tiny_collection, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    again: list[int] = []

    def counted(self: RepBERT, texts: list[str]) -> object:
        again.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(RepBERT, "encode_documents", counted)
    index_bundle(exported, tiny_collection, tmp_path / "b")
    assert len(again) == 1  # 48 documents in blocks of 16: two were kept
    assert [each.name for each in tmp_path.iterdir()] == ["b"]


def test_bench_measures_every_stage(
    indexed: Bundle, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(exported.with_name("indexed.ranklet"))
    assert main(["bench", target, "-n", "5", "--cold", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["queries"] == 5
    assert found["cold_ms"]["import ranklet.runtime"] > 0
    assert found["warm_ms"]["in all"]["p50"] > 0


def test_the_backbone_is_not_changed_by_loading(tiny_backbone: Backbone) -> None:
    assert tiny_backbone.tokenizer.truncation is None
