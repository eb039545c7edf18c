"""A TK the whole way: checkpoint → proven network → rescoring; and one that was written earlier."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import TinyRankers

from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.default_pipelines import RERANKED, stages, standard_pipelines
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.pipeline.candidates import StoredCandidates, TextCandidates
from ranklet.runtime.pipeline.deadline import FIRST_SLICE
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Rescore, Retrieve
from ranklet.runtime.rankers.tk import TK
from ranklet.runtime.storage.manifest import Manifest, RankerEntry
from ranklet.runtime.text.ranked import ranked_text
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.conformer_kernel.pairs import TermReader
from ranklet.training.rankers.conformer_kernel.vocabulary import term_rows
from ranklet.training.rankers.tk import training as tk

QUERIES = ("quiet stream", "an old old fiddle", "red apple here", "gnorp winter")
TEXTS = ["the red apple is red", "an old river " * 9, "", "gnorp", "winter is here here"]
RECIPE: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 20},
    {"stage": "rescore", "ranker": "tk"},
]


@pytest.fixture
def checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("tk")


@pytest.fixture
def indexed(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("tk")


def opened(bundle: Bundle) -> TK:
    found = bundle._bundle.ranker("tk")
    assert isinstance(found, TK)
    return found


def test_every_variant_is_proven_and_nothing_else_is_stored(indexed: Bundle) -> None:
    proofs = read_reports(indexed._bundle.path)["tk"]
    assert [each.variant for each in proofs] == ["fp32", "fp16", "int8"]
    assert proofs[0].max_error < 1e-3
    assert proofs[0].overlap == 1
    assert not proofs[0].refused
    stored = {path.removeprefix("rankers/tk/") for path in indexed.manifest.files if "/tk/" in path}
    arrays = {"rows.npy", "tokens.npy", "tokens.offsets.npy"}
    assert stored - arrays == {"model.onnx", "model_fp16.onnx", "model_int8.onnx", "report.json"}


def test_the_checkpoint_says_what_it_is(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    back = read_checkpoint(checkpoints["tk"].save(tmp_path / "c"))
    assert (back.kind, back.network["attention"]) == ("tk", "full")
    assert tk.load(back).network == tk.load(checkpoints["tk"]).network
    with pytest.raises(InputError, match="no tk"):
        tk.load(checkpoints["bm25"])
    with pytest.raises(InputError, match="lacks 'vocabulary'"):
        tk.load(replace(back, network={}))


def test_onnx_gives_pytorchs_scores(indexed: Bundle, checkpoints: dict[str, Checkpoint]) -> None:
    ranker, documents, model = (
        opened(indexed),
        indexed._bundle.need_documents(),
        tk.load(checkpoints["tk"]),
    )
    analyzer = indexed._bundle.analyzer
    forwards = {"words": documents.forward("words")}
    analysed = AnalysedCollection(documents, analyzer, forwards, ("words",))
    rows = term_rows(checkpoints["tk"].tokens, analyzer.vocabulary)
    reader = TermReader(analysed, checkpoints["tk"].settings, rows)
    every = np.arange(len(documents))
    texts = list(map(ranked_text, documents.titles, documents.texts))
    for text in QUERIES[:3]:
        analysis = analyzer.begin()
        query = QueryContext(text, analysis)
        with torch.no_grad():
            expected = model(reader.pairs([reader.asked(text)], every[None])).numpy()
        scores = ranker.score(query, TextCandidates(texts, analysis)).values
        tolerance = 0.1 * max(1.0, float(expected.std()))  # of int8, which a processor runs
        np.testing.assert_allclose(scores, expected, atol=tolerance)
        stored = StoredCandidates(documents, every.astype(np.uint32))
        np.testing.assert_array_equal(ranker.score(query, stored).values, scores)


@pytest.mark.parametrize("texts", [None, TEXTS])
def test_an_explanation_is_the_score(texts: list[str] | None, indexed: Bundle) -> None:
    for hit in indexed.rank("old river", texts, pipeline=RECIPE, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)
        assert hit.explanation.label == "tk over words"
        assert not hit.explanation.parts


def test_it_reranks_and_does_not_retrieve(indexed: Bundle) -> None:
    assert "rescore by tk" in str(indexed.manifest.pipelines["tk"].stages[-1])
    retrieve = [{"stage": "retrieve", "ranker": "tk", "k": 3}]
    with pytest.raises(InputError, match="cannot retrieve"):
        indexed.rank("old river", pipeline=retrieve)
    raw = json.loads(indexed.manifest.to_json())
    raw["pipelines"]["bad"] = retrieve
    with pytest.raises(BundleError, match="has no index"):
        Manifest.from_json(json.dumps(raw))


def test_it_reranks_few() -> None:
    entry, impacts = RankerEntry("tk", {}), RankerEntry("conformer_kernel", {})
    both = stages(["impacts", "tk"], {"impacts": impacts, "tk": entry})
    assert both == (Retrieve("impacts", RERANKED), Rescore("tk"))
    assert standard_pipelines({"tk": entry}) == ({}, "")


def test_a_bundle_that_cannot_retrieve_is_reported(
    checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    only = ExportOptions(variants=("fp32",))
    export_bundle({"tk": checkpoints["tk"]}, tmp_path / "r", only)
    assert "tk cannot retrieve" in caplog.text
    caplog.clear()
    index_bundle(tmp_path / "r", tiny_collection, tmp_path / "b")
    assert "tk cannot retrieve" in caplog.text
    caplog.clear()
    export_bundle({"bm25": checkpoints["bm25"]}, tmp_path / "n", only)
    assert "cannot retrieve" not in caplog.text


def test_what_is_cut_is_reported_once(indexed: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    network = opened(indexed).network
    short = replace(network.settings, max_document_terms=5, max_query_terms=2)
    monkeypatch.setattr(network, "settings", short)
    texts = ["an old river " * 9, "short", "an old river " * 9]
    twice = [*RECIPE, RECIPE[1]]
    for query, cut in (("old river", 2), ("gnorp", 2), ("quiet old river", 3)):
        assert indexed.rank(query, texts, pipeline=twice, explain=True).truncated == {"tk": cut}
    assert indexed.rank("quiet old river", pipeline=RECIPE).truncated == {"tk": 1}


def test_a_budget_begins_with_few(indexed: Bundle) -> None:
    sizes = [opened(indexed).first_slice(texts=texts) for texts in (False, True)]
    assert sizes == [FIRST_SLICE, FIRST_SLICE]


def test_verify_finds_a_row_that_is_not_there(indexed: Bundle, tmp_path: Path) -> None:
    assert "ranker tk" in list(verify(indexed._bundle.path))
    for change in (10_000, -10):
        victim = Path(shutil.copytree(indexed._bundle.path, tmp_path / str(change)))
        rows = np.load(victim / "rankers/tk/rows.npy")
        np.save(victim / "rankers/tk/rows.npy", rows + np.int32(change))
        redigest(victim, "rankers/tk/rows.npy")
        with pytest.raises(BundleError):
            list(verify(victim))


def redigest(bundle: Path, *paths: str) -> None:
    """Write sizes and digests of changed files into the manifest."""
    from ranklet.export.writer import sha256

    manifest = json.loads((bundle / "manifest.json").read_text("utf-8"))
    for path in paths:
        size = (bundle / path).stat().st_size
        manifest["files"][path] = {"bytes": size, "sha256": sha256(bundle / path)}
    (bundle / "manifest.json").write_text(json.dumps(manifest), "utf-8")


# ---------------------------------------------------------------------------- written earlier


def test_a_bundle_of_version_1_gives_the_same_scores(
    indexed: Bundle, tiny_collection: Collection, tmp_path: Path
) -> None:
    """There a TK was a form of the Conformer-Kernel, with arrays that it does not read."""
    old = Path(shutil.copytree(indexed._bundle.path, tmp_path / "old"))
    terms = len(np.load(old / "rankers/tk/rows.npy"))
    for name in ("idf", "floors"):
        np.save(old / f"rankers/tk/{name}.npy", np.zeros(terms, np.float32))
    manifest = json.loads((old / "manifest.json").read_text("utf-8"))
    manifest["format_version"] = 1
    settings = {
        "form": "tk", "field": "words", "scorer": "onnx", "max_query_terms": 20,
        "max_document_terms": 4000, "latent_weight": 1.0, "explicit_weight": 1.0, "tf_mean": 1.0,
        "length_mean": 1.0, "length_weight": 1.0, "length_bias": 1.0, "terms": 300,
        "candidates": 600, "floor": 0.25, "impacts": "uint8", "overlap": 1.0, "truncated": 0,
    }  # fmt: skip
    manifest["rankers"]["tk"] = {"kind": "conformer_kernel", "settings": settings}
    (old / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    redigest(old, "rankers/tk/idf.npy", "rankers/tk/floors.npy")
    bundle = Bundle(old, check="full", device="cpu")
    assert bundle.manifest.rankers == indexed.manifest.rankers
    again = load(index_bundle(old, tiny_collection, tmp_path / "again"), device="cpu")
    for text in QUERIES:
        expected = indexed.rank_ids(text, pipeline="tk")
        assert bundle.rank_ids(text, pipeline="tk") == expected
        assert again.rank_ids(text, pipeline="tk") == expected


def test_a_checkpoint_of_before_reads_as_a_tk(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    path = checkpoints["tk"].save(tmp_path / "c")
    described = json.loads((path / "ranklet.json").read_text("utf-8"))
    described["kind"] = "conformer_kernel"
    described["settings"] |= {"form": "tk", "scorer": "onnx", "floor": 0.25}
    (path / "ranklet.json").write_text(json.dumps(described), "utf-8")
    network = json.loads((path / "config.json").read_text("utf-8"))
    network |= {
        "architectures": ["ConformerKernel"], "form": "tk", "attention": None, "width": 31,
        "groups": 32, "window": 300, "stride": 100,
    }  # fmt: skip
    (path / "config.json").write_text(json.dumps(network), "utf-8")
    back = read_checkpoint(path)
    assert (back.kind, back.settings) == ("tk", checkpoints["tk"].settings)
    assert tk.load(back).network == tk.load(checkpoints["tk"]).network
