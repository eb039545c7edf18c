"""A Conformer-Kernel the whole way: checkpoint → proven network → impacts → rank."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import TinyRankers

from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.default_pipelines import DEPTH, RERANKED, stages, standard_pipelines
from ranklet.export.errors import ExportError
from ranklet.export.onnx.fp32_head import HEAD
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.export.rankers.conformer_kernel import exporting as exporting
from ranklet.export.rankers.conformer_kernel import floors as term_floors
from ranklet.export.rankers.conformer_kernel import impacts as term_impacts
from ranklet.export.rankers.conformer_kernel.term_prediction import (
    LikelyTerms,
    likely_terms,
    predictor,
)
from ranklet.export.resumable import BlockCache
from ranklet.export.writer import sha256
from ranklet.handlers.page.score_tree import groups
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.pipeline.candidates import StoredCandidates, TextCandidates
from ranklet.runtime.pipeline.deadline import FIRST_SLICE
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Keep, Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.conformer_kernel import network as term_network
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import (
    INPUTS,
    PADDING,
    network_scores,
    scores_of_each,
)
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.protocol import AT_ONCE
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.runtime.text.ranked import ranked_text
from ranklet.runtime.text.words import words
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.pairs import TermReader
from ranklet.training.rankers.conformer_kernel.vocabulary import term_rows

FORMS = ("ndrm1", "ndrm2", "ndrm3")
LOOSE = ExportOptions(variants=("fp32", "fp16", "int8"), max_ndcg_loss=0.5)
SIZES: dict[str, Any] = {
    "hidden": 16, "heads": 4, "groups": 4, "width": 3, "layers": 1, "kernels": 6, "window": 6,
    "stride": 3, "dropout": 0.0,
}  # fmt: skip
ASKED = ("quiet stream", "an old old fiddle", "red apple here", "gnorp winter")
EVERYTHING: dict[str, Any] = {"floor": 0.0, "terms": 10_000, "candidates": 10_000}


@pytest.fixture(autouse=True, scope="module")
def _few_probes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "PROBES", (5, 16))
        yield


@pytest.fixture(scope="module")
def worded(tiny_collection: Collection) -> AnalysedCollection:
    asked = {
        word
        for split in ("train", "dev")
        for query in tiny_collection.queries(split)
        for word in words(query.text)
    }
    return analyse(tiny_collection.documents(), ["words", "lemmas"], known_words=asked)


@pytest.fixture(scope="module")
def checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("conformer_kernel")


@pytest.fixture(scope="module")
def exported(checkpoints: dict[str, Checkpoint], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_bundle(checkpoints, tmp_path_factory.mktemp("ck") / "rankers", LOOSE)


@pytest.fixture(scope="module")
def indexed(exported: Path, tiny_collection: Collection) -> Bundle:
    target = index_bundle(exported, tiny_collection, exported.with_name("indexed.ranklet"))
    return load(target, device="cpu")


@pytest.fixture(scope="module")
def whole(
    checkpoints: dict[str, Checkpoint], tiny_collection: Collection,
    tmp_path_factory: pytest.TempPathFactory,
) -> BundleFiles:  # fmt: skip
    """Every term's impact on every document, none of them below its floor, not quantised.

    Beside each, under "uint8_" and its name, the same in eight bits.
    """
    folder = tmp_path_factory.mktemp("whole")
    chosen = {
        prefix + form: replace(
            checkpoints[form],
            settings=replace(checkpoints[form].settings, **EVERYTHING, impacts=stored),
        )
        for form in FORMS
        for prefix, stored in (("", "float32"), ("uint8_", "uint8"))
    }
    export_bundle(chosen, folder / "rankers", ExportOptions(variants=("fp32",)))
    return BundleFiles(
        index_bundle(folder / "rankers", tiny_collection, folder / "b"), device="cpu"
    )


def opened(bundle: BundleFiles | Bundle, name: str) -> ConformerKernel:
    found = (bundle if isinstance(bundle, BundleFiles) else bundle._bundle).ranker(name)
    assert isinstance(found, ConformerKernel)
    return found


def by_pytorch(checkpoint: Checkpoint, bundle: BundleFiles, text: str) -> Any:
    """The model's score of every document, on the statistics of the collection; (documents,)."""
    model = conformer_kernel.load(checkpoint)
    found = analyse_again(bundle)
    rows = term_rows(checkpoint.tokens, found.analyzer.vocabulary)
    reader = TermReader(found, checkpoint.settings, rows)
    documents = np.arange(len(found.documents))[None]
    with torch.no_grad():
        return model(reader.pairs([reader.asked(text)], documents)).numpy()


def analyse_again(bundle: BundleFiles) -> AnalysedCollection:
    documents = bundle.documents
    assert documents is not None
    forwards = {"words": documents.forward("words")}
    return AnalysedCollection(documents, bundle.analyzer, forwards, ("words",))


# ---------------------------------------------------------------------- query term independence


@pytest.mark.parametrize("form", FORMS)
def test_the_sum_of_impacts_is_the_models_score(
    form: str, whole: BundleFiles, checkpoints: dict[str, Checkpoint]
) -> None:
    """Up to what no document changes: floors, and the constants of BatchNorm."""
    ranker = opened(whole, form)
    for text in ASKED:
        query = QueryContext(text, whole.analyzer.begin())
        model = by_pytorch(checkpoints[form], whole, text)
        numbers, found, _ = ranker.retrieve(query, len(model))
        scores = np.zeros(len(model))  # the document at every floor is in no list
        scores[numbers] = found
        constant = model - scores
        np.testing.assert_allclose(constant, constant.mean(), atol=2e-4 * max(1, model.std()))
        every: Any = np.arange(len(model), dtype=np.uint32)
        assert whole.documents is not None
        given = StoredCandidates(whole.documents, every)
        np.testing.assert_allclose(ranker.score(query, given).values, scores, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_quantised_impacts_stray_by_half_a_step_a_term(form: str, whole: BundleFiles) -> None:
    exact, stored = opened(whole, form).index, opened(whole, f"uint8_{form}").index
    assert stored.impacts.dtype == np.uint8
    every = np.arange(whole.manifest.documents, dtype=np.uint32)
    terms = np.arange(len(stored.offsets) - 1, dtype=np.int32)
    apart = np.abs(stored.matrix(terms, every) - exact.matrix(terms, every))
    assert apart.max() <= stored.scale / 2 * 1.001


def test_what_is_kept_is_the_models_own_number(
    indexed: Bundle, whole: BundleFiles, checkpoints: dict[str, Checkpoint]
) -> None:
    """Pruned and quantised: every stored impact is the model's, above a floor of its term."""
    ranker, exact = opened(indexed, "ndrm3"), opened(whole, "ndrm3")
    every = np.arange(len(indexed), dtype=np.uint32)
    for term in np.unique(
        QueryContext(" ".join(ASKED), whole.analyzer.begin()).tokens("words")
    ).tolist():
        if term >= len(ranker.matching.rows):
            continue
        terms = np.array([term], np.int32)
        stored = ranker.index.matrix(terms, every)[0]
        shift = exact.matching.floors[term] - ranker.matching.floors[term]
        model = exact.index.matrix(terms, every)[0] + shift
        held = stored > 0
        np.testing.assert_allclose(stored[held], model[held], atol=ranker.index.scale)
        assert (model[~held] < ranker.index.scale).all()  # here few terms: only the floor cuts


# --------------------------------------------------------------------------------- the network


def test_every_variant_is_proven(exported: Path) -> None:
    reports = read_reports(exported)
    assert set(reports) == {"ndrm1", "ndrm3"}  # NDRM2 has no network
    for proofs in reports.values():
        assert [each.variant for each in proofs] == ["fp32", "fp16", "int8"]
        assert proofs[0].max_error < 1e-3
        assert proofs[0].overlap == 1
        assert not proofs[0].refused
        assert not proofs[1].refused


def test_variants_change_the_encoder_and_leave_the_pooling_in_32_bits(exported: Path) -> None:
    import onnx

    models = {
        name: onnx.load(str(exported / "rankers/ndrm3" / VARIANTS[name])) for name in VARIANTS
    }
    operators = {name: [n.op_type for n in each.graph.node] for name, each in models.items()}
    assert "MatMulInteger" in operators["int8"]
    assert "MatMulInteger" not in operators["fp32"]
    heads = {
        name: [node.op_type for node in each.graph.node if node.name.startswith(HEAD)]
        for name, each in models.items()
    }
    for name in VARIANTS:  # the kernels' sums, and what is made of them
        assert "Exp" in heads[name]
        assert "MatMul" in heads[name]
        assert "Conv" not in heads[name]
        assert "LayerNormalization" not in heads[name]
    # One table of embeddings for both sides, also where it is stored in 16 bits.
    rows = 2 + len(exporting.known_words(BundleFiles(exported), "ndrm3"))
    tables = {
        name: [each for each in model.graph.initializer if [*each.dims] == [rows, SIZES["hidden"]]]
        for name, model in models.items()
    }
    assert [len(each) for each in tables.values()] == [1, 1, 1]


def test_the_proof_of_the_impacts_is_beside_it(indexed: Bundle) -> None:
    reports = read_reports(indexed._bundle.path)
    assert [each.variant for each in reports["ndrm3"]] == [
        "fp32",
        "fp16",
        "int8",
        "impacts",
        "uint8",
    ]
    assert [each.variant for each in reports["ndrm2"]] == ["impacts", "uint8"]
    exact, stored = reports["ndrm2"]
    assert exact.max_error < 1e-5  # NDRM2's impacts are all of it
    assert stored.max_error < 0.05
    measured = indexed.manifest.rankers["ndrm3"].measured
    assert measured["overlap"] == reports["ndrm3"][-1].overlap > 0.5


@pytest.mark.parametrize("form", FORMS)
def test_a_text_scores_the_same_alone_and_among_others(form: str, indexed: Bundle) -> None:
    ranker = opened(indexed, form)
    texts = ["the red apple is red", "an old river " * 9, "", "gnorp", "winter is here here"]
    for text in ASKED:
        analysis = indexed._bundle.analyzer.begin()
        query = QueryContext(text, analysis)
        together = ranker.score(query, TextCandidates(texts, analysis)).values
        alone = [ranker.score(query, TextCandidates([each], analysis)).values[0] for each in texts]
        assert together.tolist() == alone
        assert together.dtype == np.float32


@pytest.mark.parametrize("form", FORMS)
def test_onnx_gives_pytorchs_order(
    form: str, whole: BundleFiles, checkpoints: dict[str, Checkpoint]
) -> None:
    """The caller's own texts are scored as stored ones are, by the model itself."""
    ranker, documents = opened(whole, form), whole.documents
    assert documents is not None
    texts = list(map(ranked_text, documents.titles, documents.texts))
    for text in ASKED[:3]:
        analysis = whole.analyzer.begin()
        found = ranker.score(QueryContext(text, analysis), TextCandidates(texts, analysis)).values
        model = by_pytorch(checkpoints[form], whole, text)
        constant = model - found
        np.testing.assert_allclose(
            constant, constant.mean(), atol=2e-4 * max(1.0, float(model.std()))
        )


class Fake:
    """A session that adds up rows, and notes what it was fed."""

    provider, workers = "fake", 1

    def __init__(self, on_gpu: bool, shape: tuple[int, ...] | None = None) -> None:
        self.on_gpu, self.shape = on_gpu, shape
        self.fed: list[tuple[int, ...]] = []

    def run(self, output: str, feeds: dict[str, Any]) -> Any:
        query, held = feeds[INPUTS[0]], feeds[INPUTS[1]]
        self.fed.append(held.shape)
        return np.ones(self.shape) if self.shape else query + held.sum(1, keepdims=True) * 1.0


def test_each_document_is_asked_for_its_own_terms_in_runs_that_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(term_network, "RUN_BUDGET", 4)
    session = Fake(on_gpu=False)
    terms = [np.array([2, 3, 4]), np.array([5]), np.array([], np.int64), np.array([7])]
    documents = [np.array([10, 20]), np.arange(9), np.array([1]), np.array([], np.int64)]
    found = scores_of_each(session, terms, documents)
    assert [each.tolist() for each in found] == [[32, 33, 34], [41], [], [7]]
    assert session.fed == [(1, 2), (1, 2), (1, 9), (1, 1)]  # two terms, one; one; padding
    with pytest.raises(BundleError, match="shape"):
        scores_of_each(Fake(False, (1, 3)), terms[:1], documents[:1])


def test_the_proof_reads_a_document_once_and_scores_as_serving_does(indexed: Bundle) -> None:
    ranker = opened(indexed, "ndrm3")
    analysis = indexed._bundle.analyzer.begin()
    queries = [QueryContext(text, analysis) for text in (*ASKED, "", "old")]
    texts = TextCandidates(["the red apple", "an old river " * 3, "gnorp"], analysis)
    together = ranker.matching.scores(queries, texts)
    alone = np.stack([ranker.score(query, texts).values for query in queries])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    session = Fake(on_gpu=False)
    counted = TermMatching(
        ranker.settings, ranker.matching.rows, ranker.matching.idf_of, ranker.matching.floors,
        lambda: session, 9,
    )  # fmt: skip
    counted.scores(queries, texts)
    assert len(session.fed) == len(texts)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_documents_are_fed_alone_or_by_length(
    on_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Fake(on_gpu)
    documents = Gathered(np.array([7, 8, 5, 1]), np.array([2, 1, 0, 1]))
    found = network_scores(session, np.array([2, 3]), documents)
    assert found.tolist() == [[17, 7, 2, 3], [18, 8, 3, 4]]
    assert session.fed == ([(4, 2)] if on_gpu else [(1, 2), (1, 1), (1, 1), (1, 1)])
    assert PADDING == 0
    monkeypatch.setattr(term_network, "SQUARE_BUDGET", 4)  # one of two terms, or four of one
    small = Fake(on_gpu)
    network_scores(small, np.array([2, 3]), documents)
    assert small.fed == ([(1, 2), (3, 1)] if on_gpu else session.fed)
    for shape in ((4, 3), (4,), (3, 2)):
        with pytest.raises(BundleError, match="shape"):
            network_scores(Fake(on_gpu, shape), np.array([2, 3]), documents)


# ------------------------------------------------------------------------------------- serving


def test_retrieving_opens_no_network(indexed: Bundle) -> None:
    code = (
        "import sys; from ranklet import runtime\n"
        "bundle = runtime.load(sys.argv[1])\n"
        "for form in sys.argv[2:]:\n"
        "    found = bundle.rank('quiet stream', pipeline=form, explain=True)\n"
        "    assert len(found) and found.providers == {form: 'numpy'}\n"
        "assert 'onnxruntime' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(indexed._bundle.path), *FORMS]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("own", [False, True])
def test_explanations_add_up_and_name_their_words(form: str, own: bool, indexed: Bundle) -> None:
    recipe: list[dict[str, Any]] = [{"stage": "retrieve", "ranker": form, "k": 20}]
    texts = ["the old old river is quiet", "a red apple", "gnorp"] if own else None
    for text in ASKED:
        for hit in indexed.rank(text, texts, k=20, pipeline=recipe, explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)
            check_parts(hit.explanation)


def check_parts(explanation: Explanation) -> None:
    if explanation.parts:
        total = sum(part.value for part in explanation.parts)
        assert total == pytest.approx(explanation.value, abs=1e-5)
    for part in explanation.parts:
        check_parts(part)


def test_ndrm3_tells_exact_matches_from_what_is_near(indexed: Bundle) -> None:
    recipe = [{"stage": "retrieve", "ranker": "ndrm3", "k": 5}]
    hit = indexed.rank("red apple", pipeline=recipe, explain=True)[0]
    assert hit.explanation is not None
    assert {part.label for part in hit.explanation.parts} <= {"red", "apple"}
    assert {part.query_token for part in hit.explanation.parts} <= {
        ("words", "red"),
        ("words", "apple"),
    }
    (group,) = groups(indexed, "red apple", hit)  # of a page: one, with a chip a term
    assert group.label == "ndrm3 over words"
    assert len(group.query_tokens) == len(hit.explanation.parts)
    leaves = [leaf for part in hit.explanation.parts for leaf in part.parts]
    exact = {leaf.source: leaf.value for leaf in leaves if leaf.source}
    assert ("words", "apple") in exact
    ranker = opened(indexed, "ndrm3")
    query = QueryContext("red apple", indexed._bundle.analyzer.begin())
    terms = np.unique(query.tokens("words"))
    given = StoredCandidates(indexed._bundle.documents, np.array([hit.index], np.uint32))  # type: ignore[arg-type]
    by_formula = dict(
        zip(terms.tolist(), ranker.matching.explicit(terms, given)[:, 0], strict=True)
    )
    find = indexed._bundle.analyzer.vocabulary.forms.find
    assert exact["words", "apple"] == pytest.approx(by_formula[find("apple")], rel=1e-4)


def test_rescoring_by_the_network_is_a_setting(
    checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path,
    indexed: Bundle,
) -> None:  # fmt: skip
    chosen = {
        name: replace(
            checkpoints[name], settings=replace(checkpoints[name].settings, scorer="onnx")
        )
        for name in ("ndrm3", "ndrm2")
    }
    export_bundle(
        {"bm25": checkpoints["bm25"], **chosen}, tmp_path / "r", ExportOptions(variants=("fp32",))
    )
    bundle = load(index_bundle(tmp_path / "r", tiny_collection, tmp_path / "b"), device="cpu")
    for name, provider in (("ndrm3", "CPUExecutionProvider"), ("ndrm2", "numpy")):
        recipe: list[dict[str, Any]] = [
            {"stage": "retrieve", "ranker": "bm25", "k": 9},
            {"stage": "rescore", "ranker": name},
        ]
        ranking = bundle.rank("old river", k=9, pipeline=recipe, explain=True)
        assert ranking.providers == {name: provider}
        own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in ranking]
        scores = bundle.score("old river", own, pipeline=recipe)
        np.testing.assert_allclose(scores, [hit.score for hit in ranking], rtol=1e-4, atol=1e-4)
        for hit in ranking:
            assert hit.explanation is not None
            check_parts(hit.explanation)
        # A list of its own is by impacts, and is explained so.
        alone = [{"stage": "retrieve", "ranker": name, "k": 9}]
        for stages_of_it in (alone, [*alone, recipe[1]]):
            for hit in bundle.rank("old river", pipeline=stages_of_it, explain=True):
                assert hit.explanation is not None
                assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)


def test_a_network_behind_an_index_reranks_few_and_never_mixes_its_scores_with_impacts() -> None:
    first = RankerEntry("bm25", {})
    deep = RankerEntry("conformer_kernel", {"architecture": "ndrm3", "scorer": "onnx"})
    other = RankerEntry("conformer_kernel", {"architecture": "ndrm1", "scorer": "onnx"})
    cheap = RankerEntry(
        "conformer_kernel", {"architecture": "ndrm2", "scorer": "onnx"}
    )  # no network
    entries = {"deep": deep, "bm25": first, "other": other, "cheap": cheap}
    # What `ranklet fuse` adds up: no list of impacts among the network's scores.
    lists = Retrieve("bm25", RERANKED), Rescore("deep")
    assert stages(["deep", "bm25"], entries) == lists
    assert stages(["deep"], entries) == (Retrieve("deep", RERANKED), Rescore("deep"))
    assert stages(["cheap"], entries) == (Retrieve("cheap", DEPTH),)
    both = stages(["deep", "other"], entries)
    assert both[:2] == (Retrieve("deep", RERANKED), Retrieve("other", RERANKED))
    assert both[2:] == (Rescore("deep"), Rescore("other"))
    pipelines, default = standard_pipelines({"deep": deep, "bm25": first})
    assert default == "deep"
    assert pipelines["bm25"] == Pipeline((Retrieve("bm25", DEPTH),))
    candidates = Retrieve("bm25", DEPTH), Keep(RERANKED)
    assert pipelines["deep"] == Pipeline((*candidates, Rescore("deep")))
    assert "rrf" not in pipelines
    alone, default = standard_pipelines({"deep": deep})
    assert default == "deep"
    assert alone == {"deep": Pipeline((Retrieve("deep", RERANKED), Rescore("deep")))}


def test_what_the_model_cuts_is_told(
    checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    settings = replace(checkpoints["ndrm3"].settings, max_document_terms=5, max_query_terms=1)
    short = {"ndrm3": replace(checkpoints["ndrm3"], settings=settings)}
    export_bundle(short, tmp_path / "r", LOOSE)
    bundle = load(index_bundle(tmp_path / "r", tiny_collection, tmp_path / "b"), device="cpu")
    assert bundle.manifest.rankers["ndrm3"].measured["truncated"] == 0  # no document is so long
    ranking = bundle.rank("old river", ["an old river " * 9, "short"])
    assert ranking.truncated == {"ndrm3": 2}  # the query and a text
    own = ["old", "river"]
    assert bundle.score("old", own).tolist() == bundle.score("old river", own).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_texts_that_are_cut_are_told_once_and_where_no_network_runs(
    form: str, indexed: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = opened(indexed, form).matching
    monkeypatch.setattr(held, "settings", replace(held.settings, max_document_terms=5))
    recipe: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": form, "k": 9},
        {"stage": "rescore", "ranker": form},
    ]
    texts = ["an old river " * 9, "short", "an old river " * 9]
    for query in ("old river", "gnorp"):
        found = indexed.rank(query, texts, pipeline=recipe, explain=True)
        assert found.truncated == {form: 2}


def test_queries_that_are_cut_are_told_once(
    indexed: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    for form in FORMS:
        held = opened(indexed, form).matching
        monkeypatch.setattr(held, "settings", replace(held.settings, max_query_terms=2))
    for form in FORMS:
        recipe: list[dict[str, Any]] = [
            {"stage": "retrieve", "ranker": form, "k": 9},
            {"stage": "rescore", "ranker": form},
        ]
        assert indexed.rank("old river", pipeline=recipe).truncated == {}
        found = indexed.rank("quiet old river", pipeline=recipe, explain=True)
        assert found.truncated == {form: 1}
        texts = ["an old river", "an apple"]
        assert indexed.rank("quiet old river", texts, pipeline=recipe).truncated == {form: 1}


def test_a_budget_begins_with_few_texts_where_the_network_runs(
    indexed: Bundle, checkpoints: dict[str, Checkpoint]
) -> None:
    sizes = {form: opened(indexed, form) for form in FORMS}
    assert [each.slice_size for each in sizes.values()] == [AT_ONCE, AT_ONCE, AT_ONCE]
    told = [each.first_slice(texts=True) for each in sizes.values()]
    assert told == [FIRST_SLICE, AT_ONCE, FIRST_SLICE]
    full = sizes["ndrm3"]
    settings = replace(checkpoints["ndrm3"].settings, scorer="onnx")
    assert ConformerKernel(settings, full.matching, full.index).slice_size == FIRST_SLICE


@pytest.mark.parametrize("own", [False, True])
def test_a_stage_within_a_budget_asks_for_such_slices(
    own: bool, indexed: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Impacts of stored documents in one go; of texts, which the network reads, few at first."""
    ranker = opened(indexed, "ndrm3")
    asked: list[int] = []
    scored = ranker.score

    def noted(query: QueryContext, candidates: Any) -> Any:
        asked.append(len(candidates))
        return scored(query, candidates)

    monkeypatch.setattr(ranker, "score", noted)
    texts = ["an old river"] * 20 if own else None
    recipe: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "bm25", "k": 20},
        {"stage": "rescore", "ranker": "ndrm3"},
    ]
    found = indexed.rank("old river", texts, k=20, pipeline=recipe, budget_ms=1e6)
    assert asked[0] == (FIRST_SLICE if own else len(found))


def test_a_bundle_is_indexed_again_and_verified(
    indexed: Bundle, tiny_collection: Collection, tmp_path: Path
) -> None:
    again = load(index_bundle(indexed._bundle.path, tiny_collection, tmp_path / "b"), device="cpu")
    for form in FORMS:
        recipe = [{"stage": "retrieve", "ranker": form, "k": 9}]
        for text in ASKED:
            assert again.rank_ids(text, pipeline=recipe) == indexed.rank_ids(text, pipeline=recipe)
    assert read_reports(tmp_path / "b").keys() == read_reports(indexed._bundle.path).keys()
    assert "ranker ndrm3" in list(verify(tmp_path / "b"))


DAMAGE: dict[str, tuple[str, Any]] = {
    "a row past the network's": ("rows.npy", lambda held: held + 10_000),
    "a row below": ("rows.npy", lambda held: held * 0 - 1),
    "an idf that is no number": ("idf.npy", lambda held: held * np.nan),
    "an idf below zero": ("idf.npy", lambda held: held * 0 - 1),
    "a floor that is no number": ("floors.npy", lambda held: held * np.inf),
    "no impact": ("impacts.npy", lambda held: held * 0),
    "a posting past the collection": ("documents.npy", lambda held: held + 48),
    "a scale of nothing": ("scale.npy", lambda held: held * 0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DAMAGE)
def test_verify_finds_damage_and_ranking_tells_or_survives(
    name: str, indexed: Bundle, tmp_path: Path
) -> None:
    victim = Path(shutil.copytree(indexed._bundle.path, tmp_path / "victim"))
    part, change = DAMAGE[name]
    path = victim / "rankers/ndrm3" / part
    held = np.load(path)
    np.save(path, change(held).astype(held.dtype))
    manifest = json.loads((victim / "manifest.json").read_text("utf-8"))
    told = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    manifest["files"][f"rankers/ndrm3/{part}"] = told
    (victim / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(BundleError):
        list(verify(victim))
    bundle = Bundle(victim, device="cpu")
    for documents in (None, ["an old river"]):
        try:
            found = bundle.rank("old river", documents, pipeline="ndrm3", explain=True)
        except BundleError:
            continue
        assert all(np.isfinite(hit.score) for hit in found)


# -------------------------------------------------------------------------------------- export


def test_without_probes_there_is_no_proof(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    bare = {"ndrm1": replace(checkpoints["ndrm1"], probes=None)}
    with pytest.raises(ExportError, match="--probes"):
        export_bundle(bare, tmp_path / "b")
    bare = {"ndrm2": replace(checkpoints["ndrm2"], probes=None)}
    assert export_bundle(bare, tmp_path / "b").exists()  # no network, nothing to prove


def test_candidates_are_a_documents_own_terms_then_likely_ones(
    indexed: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Best first, and none that is its own."""
    matching = opened(indexed, "ndrm1").matching
    asked: list[list[int]] = []

    def noted(_: Any, rows: Any, documents: Any) -> Any:
        asked.extend(each.tolist() for each in rows)
        assert len(rows) == len(documents)
        return [np.full(len(each), 5.0, np.float32) for each in rows]

    monkeypatch.setattr(term_impacts, "latent_scores", noted)
    analysed = analyse_again(indexed._bundle)
    own = np.unique(analysed.tokens("words")[: analysed.offsets("words")[1]])
    known = np.flatnonzero(matching.rows > 1)
    others = known[~np.isin(known, own)][:4].tolist()
    above = dict(zip([own[0], *others], [9.0, 1.0, 7.0, -1.0, 3.0], strict=True))
    terms = np.array([*above], np.int32)

    class Told(LikelyTerms):
        def above_floors(self, matching: Any, documents: Any) -> Any:
            return np.tile(np.array([*above.values()], np.float32), (len(documents), 1))

    told = Told(terms, terms[:1], np.zeros((1, len(terms)), np.float32))
    for room, chosen in ((9, [others[at] for at in (1, 3, 0, 2)]), (2, [others[1], others[3]])):
        settings = replace(matching.settings, candidates=len(own) + room, terms=3)
        monkeypatch.setattr(matching, "settings", settings)
        asked.clear()
        impacts = term_impacts.document_impacts(matching, told, analysed)
        assert asked[0] == matching.rows[[*own, *chosen]].tolist()
        assert np.diff(impacts.offsets).max() == 3
        assert isinstance(impacts.indexed(len(matching.rows), "float16"), ImpactIndex)
    asked.clear()
    term_impacts.document_impacts(matching, LikelyTerms.none(), analysed)
    assert asked[0] == matching.rows[own].tolist()


def test_scores_of_low_rank_are_predicted_from_a_few() -> None:
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(3, 40))
    scores = (rng.normal(size=(60, 3)) @ axes).astype(np.float32)
    asked = np.array([1, 5, 8, 20, 33])
    of_five = predictor(scores, asked, 8)
    assert of_five.shape == (5, 40)
    fresh = rng.normal(size=(9, 3)) @ axes
    np.testing.assert_allclose(fresh[:, asked] @ of_five, fresh, atol=0.02)
    # What nobody can know is told less surely, not more: predictions shrink under noise.
    noisy = scores + rng.normal(size=scores.shape) * 2
    shrunk = fresh[:, asked] @ predictor(noisy.astype(np.float32), asked, 3)
    assert np.abs(shrunk).mean() < 0.9 * np.abs(fresh).mean()
    assert np.corrcoef(shrunk.ravel(), fresh.ravel())[0, 1] > 0.5
    for one in (scores[:1], scores * 0):  # a single document; a network that says nothing
        assert np.isfinite(predictor(one, asked, 8)).all()


def test_likely_terms_are_the_commonest_and_foretell_the_network(
    whole: BundleFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklet.export.rankers.conformer_kernel.term_prediction.COMMONEST", 20)
    monkeypatch.setattr("ranklet.export.rankers.conformer_kernel.term_prediction.ANCHORS", 8)
    matching, analysed = opened(whole, "ndrm3").matching, analyse_again(whole)
    told = likely_terms(matching, analysed)
    assert len(told.terms) == 20
    assert len(told.anchors) == 8
    df = np.diff(analysed.postings("words").offsets)
    others = np.setdiff1d(np.flatnonzero(matching.rows > 1), told.terms)
    assert df[told.terms].min() >= df[others].max()
    documents = term_floors.drawn_documents(matching, analysed, 99)
    exact = term_floors.scores_of_all(matching, told.terms, documents, "")
    found = told.above_floors(matching, documents)
    above = exact - matching.floors[told.terms]
    rest = ~np.isin(told.terms, told.anchors)
    assert np.corrcoef(found[:, rest].ravel(), above[:, rest].ravel())[0, 1] > 0.6
    again = likely_terms(matching, analysed)
    np.testing.assert_array_equal(again.predictor, told.predictor)
    explicit = opened(whole, "ndrm2").matching
    assert not len(likely_terms(explicit, analysed).terms)
    assert LikelyTerms.none().above_floors(explicit, documents).shape == (len(documents), 0)


# ----------------------------------------------------------------------------------- indexing


def test_an_interrupted_indexing_goes_on_and_ends_the_same(
    exported: Path, indexed: Bundle, tiny_collection: Collection, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(term_impacts, "BLOCK", 10)
    computed = scores_of_each
    calls: list[int] = []

    def counted(session: Any, terms: Any, documents: Any) -> Any:
        calls.append(len(documents))
        if len(calls) == stop:
            raise KeyboardInterrupt
        return computed(session, terms, documents)

    monkeypatch.setattr(term_floors, "scores_of_each", counted)
    stop, target = -1, tmp_path / "b"
    index_bundle(exported, tiny_collection, tmp_path / "whole")
    needed = len(calls)
    calls.clear()
    stop = needed - 2
    with pytest.raises(KeyboardInterrupt):
        index_bundle(exported, tiny_collection, target)
    assert not target.exists()
    kept = sorted((tmp_path / ".b.resume").rglob("*.npz"))
    kept[0].write_bytes(kept[0].read_bytes()[:-40])  # not whole: made again
    calls.clear()
    stop = -1
    index_bundle(exported, tiny_collection, target)
    assert 0 < len(calls) < needed / 2
    assert not (tmp_path / ".b.resume").exists()
    for part in ("impacts", "documents", "offsets", "floors"):
        for form in ("ndrm1", "ndrm3"):
            one, other, past = (
                np.load(path / f"rankers/{form}/{part}.npy")
                for path in (target, tmp_path / "whole", indexed._bundle.path)
            )
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, past)


def test_kept_blocks_are_told_apart_by_all_they_depend_on(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return {"values": np.array([len(made)], np.int64)}

    def block(model: str, what: str, *depends: Any) -> int:
        arrays = tuple(np.array(each) for each in depends)
        kept = BlockCache(tmp_path, model, np.arange(3))
        return int(kept.block(what, arrays, {"values": np.int64}, make)["values"][0])

    assert block("a", "x", [1, 2]) == block("a", "x", [1, 2]) == 1
    assert block("a", "x", [1], [2]) == 2
    assert block("a", "x", [1.0, 2.0]) == 3
    assert block("a", "y", [1, 2]) == 4
    assert block("b", "x", [1, 2]) == 5
    other_type = BlockCache(tmp_path, "a", np.arange(3))
    other_type.block("x", (np.array([1, 2]),), {"values": np.float32}, make)
    assert len(made) == 6
    nowhere = BlockCache()
    nowhere.block("x", (), {"values": np.int64}, make)
    assert len(made) == 7


def test_largest_impacts_by_hand() -> None:
    """Two documents and an empty one between; a floor a term; NaN where no network speaks."""
    scores = term_impacts.CandidateScores(
        np.array([0, 4, 4, 6]),
        np.array([2, 0, 1]),
        np.array([3, 0, 1, 2, 3, 1], np.int32),
        np.array([1.0, np.nan, 5.0, -1.0, 0.5, 3.0], np.float32),
        np.array([0.25, 2.0, 0.0, 0.0, 0.0, 0.0], np.float32),
    )
    floors = np.array([9.0, 3.0, -3.0, 1.0], np.float32)
    found = scores.largest(floors, 2)  # of 0.25, 2, 2, 2 | | -0.5, 0
    assert found.offsets.tolist() == [0, 2, 2, 2]
    assert found.terms.tolist() == [0, 1]  # the first of equal ones
    assert found.values.tolist() == [2, 2]
    every = scores.largest(floors, 9)
    assert every.terms.tolist() == [3, 0, 1, 2]
