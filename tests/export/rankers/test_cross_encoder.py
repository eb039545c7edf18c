"""Cross-encoders the whole way: checkpoint → proven variants → index → rerank."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.classifiers import LOGITS, classifier_folder
from tests.kinds import FP32, LOOSE, ROWS, TinyRankers, reranked_by, train
from tests.models import CLASSIFIERS, TEXTS, probes, sentence_transformers

from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.onnx.fp32_head import HEAD
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.cross_encoder.ranker import HEADS
from ranklet.runtime.verification import verify
from ranklet.training.imported.importing import read_model

RERANK = reranked_by("cross")


FORMS: dict[str, dict[str, Any]] = {
    **{head: {"head": head, "chunks": 2, "marking": "pre_pair"} for head in HEADS},
    "short": {},
    "max": {"chunks": 3, "combine": "max"},
    "mean of model1": {"chunks": 3, "combine": "mean", "head": "model1"},
    "windows": {"chunks": 3, "chunking": "words", "window": 8, "stride": 4, "combine": "first"},
    "marks by chunk": {"chunks": 2, "marking": "pre_pair", "mark_level": "chunk", "head": "model1"},
    "expanded": {"max_query_tokens": 14, "expansion": "mask", "head": "cedr_pacrr"},
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_exported_and_served_it_scores_as_pytorch_does(
    tiny: TinyRankers, form: str, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoint("cross_encoder", **FORMS[form])
    # The graph of a head is quantised and halved once; of what reads the same head, it is the same.
    options = (
        ROWS["cross_encoder"].options
        if form in HEADS and form not in ("marker_max", "marker_first")
        else FP32
    )
    path = tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint}, options)
    reports = {each.variant: each for each in read_reports(path)["cross"]}
    assert tuple(reports) == options.variants
    assert reports["fp32"].max_error < 1e-2  # of scores that are all but alike in so small a model
    assert reports["fp32"].overlap == 1
    for each in reports.values():
        assert each.batch_error < 1e-5
        assert each.fused["QAttention" if each.variant == "int8" else "Attention"] == 2
        assert ("SkipLayerNormalization" in each.fused) == (each.variant == "fp16")
        assert not each.refused
        assert each.kendall > 0.8
    ranker = load(path, device="cpu")
    ranking = ranker.rank("red fruit of the apple", k=3, pipeline=RERANK, explain=True)
    for hit in ranking:
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)
    assert ranking.providers == {"cross": "CPUExecutionProvider"}
    assert "cross" not in ranking.truncated
    assert list(verify(path))[-1] == "tokenizer"


@pytest.mark.slow
@pytest.mark.parametrize("head", ["vanilla", "cedr_drmm"])
def test_an_electra_is_exported_and_served_too(
    tiny: TinyRankers, tiny_electra: Path, head: str, tmp_path: Path
) -> None:
    data = replace(tiny.data, bert=tiny_electra)
    checkpoint = train("cross_encoder", data, head=head, marking="pre_pair")
    path = tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint})
    report = read_reports(path)["cross"][0]
    assert report.fused["Attention"] == 2
    assert report.max_error < 1e-2
    assert report.ms > 0


@pytest.mark.slow
@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_a_model_of_another_library_scores_as_it_does_there(
    tiny: TinyRankers, architecture: str, tmp_path: Path
) -> None:
    library = sentence_transformers()
    folder = classifier_folder(tmp_path / "model", architecture, **LOGITS)
    checkpoint = replace(read_model(folder), probes=probes())
    path = tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint})
    bundle = load(path, device="cpu")
    theirs = library.CrossEncoder(str(folder), device="cpu")
    theirs.tokenizer.model_max_length = checkpoint.settings.max_tokens
    ranking = bundle.rank("how do cats sleep", documents=TEXTS, explain=True, pipeline=RERANK)
    expected = theirs.predict([("how do cats sleep", hit.text) for hit in ranking])
    assert [hit.score for hit in ranking] == pytest.approx(expected.tolist(), abs=1e-4)
    assert expected.std() > 1e-2
    for hit in ranking:
        assert hit.explanation is not None
        assert hit.explanation.label == "cross-encoder imported"
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
    assert len(bundle.rank("the red apple", k=5)) == 5
    assert list(verify(path))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bert", "modernbert"])
def test_the_classifier_of_an_imported_model_stays_in_32_bits(
    architecture: str, tmp_path: Path
) -> None:
    import onnx

    checkpoint = replace(
        read_model(classifier_folder(tmp_path / "m", architecture)), probes=probes()
    )
    path = Path(export_bundle({"cross": checkpoint}, tmp_path / "x", LOOSE))
    for name in ("model_fp16.onnx", "model_int8.onnx"):
        graph = onnx.load(str(path / "rankers/cross" / name)).graph
        types = {each.name: each.data_type for each in graph.initializer}
        head = [node for node in graph.node if node.name.startswith(HEAD)]
        weights = [types[name] for node in head for name in node.input if name in types]
        assert onnx.TensorProto.FLOAT in weights
        assert not {onnx.TensorProto.FLOAT16, onnx.TensorProto.INT8} & {*weights}
        assert {onnx.TensorProto.FLOAT16, onnx.TensorProto.INT8} & {*types.values()}


@pytest.mark.slow
def test_the_default_pipeline_reranks_what_bm25_finds(cross_bundle: Bundle) -> None:
    stages = [str(each) for each in cross_bundle.manifest.pipelines["cross"].stages]
    assert stages == ["retrieve 1000 by bm25", "keep 100", "rescore by cross"]
    assert cross_bundle.manifest.default_pipeline == "cross"
    assert len(cross_bundle.rank("the red apple", k=5)) == 5


@pytest.mark.slow
def test_indexing_reports_windows_that_leave_words_out(
    tiny: TinyRankers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words: dict[str, Any] = {"chunking": "words", "chunks": 30, "combine": "max"}
    checkpoint = tiny.checkpoint("cross_encoder", **words, window=4, stride=2)
    tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint})
    assert "windows" not in caplog.text
    loose = replace(checkpoint, settings=replace(checkpoint.settings, window=60, stride=60,
                                                 max_tokens=13))  # fmt: skip
    tiny.build(tmp_path / "loose", {"bm25": tiny.checkpoint("bm25"), "cross": loose})
    assert re.search(r"in \d+ of 48 sampled documents some words are in none", caplog.text)


@pytest.mark.slow
def test_a_tokenizer_of_its_own(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoint("cross_encoder", field="", head="model1")
    path = tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint})
    assert not BundleFiles(path).has("text/tokenizer.json")
    assert BundleFiles(path).has("rankers/cross/tokenizer.json")
    hits = load(path, device="cpu").rank("the red apple", pipeline=RERANK)
    assert len(hits) == 10
    stored = load(path, device="cpu").score("the red apple", ids=[hits[0].id], pipeline=RERANK)
    assert stored[0] == pytest.approx(hits[0].score, rel=1e-5, abs=1e-6)
    hit = load(path, device="cpu").explained("the red apple", hits[0].id, pipeline=RERANK)
    marked = {hit.text[at - len(hit.title) - 1 :][:3] for at, _, _ in load(path).highlight(hit)}
    assert "red" in marked


@pytest.mark.slow
def test_one_of_two_tokenizers_is_that_of_the_bundle(tiny: TinyRankers, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    first = tiny.checkpoint("cross_encoder")
    assert first.tokenizer is not None
    other = Tokenizer.from_str(first.tokenizer.to_str().replace("here", "hera"))
    rankers = {"bm25": tiny.checkpoint("bm25"), "a": first, "b": replace(first, tokenizer=other)}
    path = Path(export_bundle(rankers, tmp_path / "b", FP32))
    fields = {
        name: each.settings.get("field")
        for name, each in BundleFiles(path).manifest.rankers.items()
    }
    assert fields == {"bm25": "lemmas", "a": "wordpieces", "b": ""}
    assert BundleFiles(path).has("rankers/b/tokenizer.json")
    indexed = load(index_bundle(path, tiny.data.collection, tmp_path / "i").path, device="cpu")
    assert len(indexed.rank("the red apple", pipeline="b", k=3)) == 3


@pytest.mark.slow
def test_indexing_reports_documents_that_are_too_long(
    tiny: TinyRankers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint = tiny.checkpoint("cross_encoder", max_tokens=20)
    tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint})
    assert "it reads the first 9 word pieces of a document" in caplog.text
