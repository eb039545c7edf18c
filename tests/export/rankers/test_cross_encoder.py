"""Cross-encoders the whole way: checkpoint → proven variants → index → rerank."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.classifiers import LOGITS, classifier_folder
from tests.kinds import FP32, ROWS, TinyRankers, reranked_by, train
from tests.models import TEXTS, probes, sentence_transformers

from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.cross_encoder.ranker import HEADS
from ranklet.runtime.rankers.verification import verify
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
@pytest.mark.parametrize("head", ["cedr_drmm"])
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
@pytest.mark.parametrize("architecture", ["bert", "modernbert", "qwen3"])
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
def test_the_default_pipeline_reranks_what_bm25_finds(cross_bundle: Bundle) -> None:
    stages = [str(each) for each in cross_bundle.manifest.pipelines["cross"].stages]
    assert stages == ["retrieve 1000 by bm25", "keep 100", "rescore by cross"]
    assert cross_bundle.manifest.default_pipeline == "cross"
    assert len(cross_bundle.rank("the red apple", k=5)) == 5


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
