"""Cross-encoders the whole way: checkpoint → proven variants → index → rerank."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.commands import main
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.errors import ExportError
from ranklet.export.fusion import fuse_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.handlers.page.page import page
from ranklet.handlers.server.live_bundle import try_out
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError, InputError, RankletError
from ranklet.runtime.pipeline.candidates import StoredCandidates, TextCandidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Fuse
from ranklet.runtime.rankers.cross_encoder.ranker import (
    HEADS,
    CrossEncoder,
    CrossEncoderSettings,
)
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.text.ranked import ranked_text
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers import bm25
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.rankers.cross_encoder.pairs import CrossOptions

LOOSE = ExportOptions(variants=("fp32", "fp16", "int8"), max_ndcg_loss=1, probes=None)
ONE = replace(LOOSE, variants=("fp32",))  # where the variants are not the subject
SHORT = CrossEncoderSettings(max_query_tokens=8, max_tokens=32)
PLAN = replace(
    cross_encoder.PLAN, learning_rate=1e-3, epochs=2, accumulation=1, device="cpu",
    evaluate_every=1000,
)  # fmt: skip
RERANK: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 20},
    {"stage": "rescore", "ranker": "cross"},
]


class Maker:
    def __init__(self, analysed: AnalysedCollection, collection: Collection, bert: Path) -> None:
        self.analysed, self.collection, self._bert = analysed, collection, bert
        self.bm25 = bm25.train(analysed, read_split(collection, "train"))

    def checkpoint(self, **settings: Any) -> Checkpoint:
        found = cross_encoder.train(
            self.analysed,
            read_split(self.collection, "train"),
            read_split(self.collection, "dev"),
            backbone=load_backbone(self._bert),
            settings=replace(SHORT, **settings),
            plan=PLAN,
            data=CrossOptions(batch=4, negatives_each=3),
        )
        assert found.probes is not None
        return replace(found, probes=found.probes.first(6, 12))

    def bundle(self, folder: Path, checkpoint: Checkpoint, options: ExportOptions = ONE) -> Path:
        rankers = {"bm25": self.bm25, "cross": checkpoint}
        exported = export_bundle(rankers, folder / "rankers", options)
        return index_bundle(exported, self.collection, folder / "indexed")


@pytest.fixture(scope="module")
def maker(tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_bert: Path) -> Maker:
    return Maker(tiny_analysed, tiny_collection, tiny_bert)


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
    maker: Maker, form: str, tmp_path: Path
) -> None:
    checkpoint = maker.checkpoint(**FORMS[form])
    # The graph of a head is quantised and halved once; of what reads the same head, it is the same.
    options = LOOSE if form in HEADS and form not in ("marker_max", "marker_first") else ONE
    path = maker.bundle(tmp_path, checkpoint, options)
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
def test_electra_too(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, tiny_electra: Path, head: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    electra = Maker(tiny_analysed, tiny_collection, tiny_electra)
    path = electra.bundle(tmp_path, electra.checkpoint(head=head, marking="pre_pair"))
    report = read_reports(path)["cross"][0]
    assert report.fused["Attention"] == 2
    assert report.max_error < 1e-2
    assert report.ms > 0


@pytest.fixture(scope="module")
def path(maker: Maker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkpoint = maker.checkpoint(head="model1", marking="pre_doc")
    return maker.bundle(tmp_path_factory.mktemp("cross"), checkpoint, LOOSE)


@pytest.fixture(scope="module")
def loaded(path: Path) -> Bundle:
    return load(path, device="cpu")


@pytest.fixture
def ranker(path: Path) -> CrossEncoder:
    found = BundleFiles(path, device="cpu").ranker("cross")
    assert isinstance(found, CrossEncoder)
    return found


def test_the_default_pipeline_reranks_what_bm25_finds(loaded: Bundle) -> None:
    stages = [str(each) for each in loaded.manifest.pipelines["cross"].stages]
    assert stages == ["retrieve 1000 by bm25", "keep 100", "rescore by cross"]
    assert loaded.manifest.default_pipeline == "cross"
    assert len(loaded.rank("the red apple", k=5)) == 5


def test_alpha_is_cross_validated_and_stored_in_a_pipeline(
    path: Path, tiny_collection: Collection, tmp_path: Path
) -> None:
    target = tmp_path / "interpolated"
    arguments = ["fuse", str(path), str(tiny_collection.path), "-o", str(target), "--split", "dev"]
    assert main([*arguments, "--rankers", "bm25,cross", "--folds", "3"]) == 0
    stages = load(target, device="cpu").manifest.pipelines["linear"].stages
    assert [str(each).split(" by ")[0] for each in stages[:2]] == ["retrieve 100", "rescore"]
    assert isinstance(stages[2], Fuse)
    assert sum(stages[2].weights) == pytest.approx(1)
    provenance = BundleFiles(target).manifest.provenance["fusion linear"]
    assert provenance["folds"] == len(provenance["alphas"]) == 3


def test_documents_of_the_collection_are_not_cut_into_pieces_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ranklet.runtime.text.analysis import Analyzer

    asked = []
    real = Analyzer.wordpieces

    def counted(self: Analyzer, text: str) -> object:
        asked.append(text)
        return real(self, text)

    monkeypatch.setattr(Analyzer, "wordpieces", counted)
    load(path, device="cpu").rank("the red apple", pipeline=RERANK)
    assert asked == ["the red apple"]


def test_a_score_is_the_same_alone_in_a_slice_and_among_others(
    path: Path, ranker: CrossEncoder
) -> None:
    bundle = BundleFiles(path, device="cpu")
    assert bundle.documents is not None
    query = QueryContext("the red fruit", bundle.analyzer.begin())
    candidates = StoredCandidates(bundle.documents, np.arange(20, dtype=np.uint32))
    whole = ranker.score(query, candidates)
    sliced = [
        ranker.score(query, candidates.select(np.arange(at, min(at + 7, 20)))) for at in (0, 7, 14)
    ]
    np.testing.assert_array_equal(np.concatenate(sliced), whole)
    texts = TextCandidates(candidates.texts, query.analysis)
    np.testing.assert_array_equal(ranker.score(query, texts), whole)
    assert ranker.score(query, candidates.select(np.arange(0))).shape == (0,)
    assert not query.truncated


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_pairs_side_by_side_have_their_own_scores(
    path: Path, ranker: CrossEncoder, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    monkeypatch.setenv("RANKLET_THREADS", threads)
    bundle = BundleFiles(path, device="cpu")
    again = CrossEncoder.open(bundle, "cross")
    assert again.session.workers == int(threads)
    texts = ["red apple", "", "river " * 60, "here is the old castle"] * 5
    query = QueryContext("the red fruit", bundle.analyzer.begin())
    candidates = TextCandidates(texts, query.analysis)
    wanted = [ranker.score(query, candidates.select(np.array([at])))[0] for at in range(len(texts))]
    np.testing.assert_array_equal(again.score(query, candidates), np.array(wanted, np.float32))


def test_on_a_gpu_pairs_run_together_with_the_same_scores(path: Path, ranker: CrossEncoder) -> None:
    from ranklet.runtime.onnx.session import Session

    bundle = BundleFiles(path, device="cpu")
    assert bundle.documents is not None
    fp32 = Session(bundle.file("rankers/cross/model.onnx"), "fp32", device="cpu")
    query = QueryContext("the red fruit", bundle.analyzer.begin())
    texts = ["red apple", "", "river " * 60, "here is the old castle"]
    candidates = TextCandidates(texts, query.analysis)
    tokenizer = bundle.tokenizer()
    alone = CrossEncoder(ranker.settings, fp32, tokenizer).score(query, candidates)

    class Together(Session):
        on_gpu = True

    fp32.__class__ = Together
    together = CrossEncoder(ranker.settings, fp32, tokenizer).score(query, candidates)
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_what_is_cut_is_told(loaded: Bundle) -> None:
    ranking = loaded.rank(
        "red " * 20,
        ["short", "here " * 60, "old " * 60],
        pipeline=[{"stage": "retrieve", "ranker": "cross", "k": 3}],
    )
    assert ranking.truncated == {"cross": 3}


def test_an_explanation_tells_pieces_and_marks(loaded: Bundle) -> None:
    explanation = loaded.explain("red fruit", "apple-red", pipeline=RERANK)
    assert explanation.label == "cross-encoder model1, marked: red"
    assert {part.label.split(",")[0] for part in explanation.parts} == {"red", "fruit"}
    product = np.prod([float(part.label.split("P = ")[1]) for part in explanation.parts])
    assert np.log(product) == pytest.approx(explanation.value, abs=0.02)
    for part in explanation.parts:
        assert sum(each.value for each in part.parts) == pytest.approx(part.value)
        assert any("→" in each.label for each in part.parts)


def test_a_page_shows_pairs_of_pieces_and_the_words_that_were_marked(loaded: Bundle) -> None:
    hit = loaded.explained("red fruit", "apple-red", pipeline=RERANK)
    assert hit.explanation is not None
    found = [part for asked in hit.explanation.parts for part in asked.parts]
    gained = sum(part.value for part in found if part.label != "of any document")
    assert sum(span.value for span in loaded.highlight(hit)) == pytest.approx(gained)
    text = page(loaded, "red fruit", [hit], "rerank")
    assert '<th scope="row">fruit</th>' in text
    exact = re.findall(r'<span class="exact"[^>]*>(?:<mark[^>]*>)?([^<]*)', text)
    assert {each.lower() for each in exact} == {"red"}
    assert 'class="unread"' not in text
    whole = ranked_text(hit.title, hit.text + " here" * 60)
    long = loaded.rank("red fruit", [whole], pipeline=RERANK, explain=True)
    assert 'class="unread"' in page(loaded, "red fruit", list(long), "rerank")


def test_each_place_of_a_piece_has_what_the_network_found_there(loaded: Bundle) -> None:
    query, text = "red fruit", "here river red here apple here"
    (hit,) = loaded.rank(query, [text], pipeline=RERANK, explain=True)
    # Title and text are a line each, and there is no title.
    at_here = [span.value for span in loaded.highlight(hit) if text[span.begin - 1 :][:4] == "here"]
    assert len(at_here) == 3
    assert len({round(value, 6) for value in at_here}) > 1  # contextual: no two are alike


def test_without_titles_what_is_shown_is_what_was_read(
    maker: Maker, path: Path, tmp_path: Path
) -> None:
    target = index_bundle(
        path, maker.collection, tmp_path / "untitled", titles=False, overwrite=True
    )
    untitled = load(target, device="cpu")
    hit = untitled.explained("red fruit", "apple-red", pipeline=RERANK)
    spans = untitled.highlight(hit)
    assert spans
    assert all(span.begin > len(hit.title) for span in spans)
    whole = f"{hit.title}\n{hit.text}"
    for span in spans:
        assert whole[span.begin : span.end].strip() == whole[span.begin : span.end] != ""
    shown = page(untitled, "red fruit", [hit], "rerank")
    assert 'class="unread"' not in shown
    exact = re.findall(r'<span class="exact"[^>]*>(?:<mark[^>]*>)?([^<]*)', shown)
    assert len(exact) == hit.text.lower().split().count("red") > 0
    # The caller's own texts are ranked as the collection's.
    (own,) = untitled.rank("red fruit", [{"id": "x", "title": hit.title, "text": hit.text}],
                           pipeline=RERANK)  # fmt: skip
    assert own.score == pytest.approx(hit.score)
    assert not untitled.manifest.titles


def test_a_deadlines_first_slice_counts_chunks(ranker: CrossEncoder) -> None:
    def first(chunks: int) -> int:
        settings = replace(ranker.settings, chunks=chunks)
        return CrossEncoder(settings, ranker.session, ranker._tokenizer).slice_size

    assert [first(chunks) for chunks in (1, 2, 3, 30)] == [8, 4, 2, 1]


def test_what_is_wrong_with_a_fusion_is_told_before_it_scores(
    path: Path, tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(*_: object, **__: object) -> None:
        raise AssertionError("scored first")

    monkeypatch.setattr(Bundle, "features", scored)
    (tmp_path / "taken").mkdir()
    queries = read_split(tiny_collection, "dev")
    two = ("bm25", "cross")
    for wrong, told in (
        ({"measure": "MAP"}, "MAP"),
        ({"folds": 1}, "folds is 1"),
        ({"folds": 1000}, "folds is 1000"),
        ({"target": tmp_path / "taken"}, "taken"),
    ):
        options: dict[str, Any] = {"target": tmp_path / "new", "rankers": two, **wrong}
        with pytest.raises(RankletError, match=told):
            fuse_bundle(path, options.pop("target"), queries, **options)


def test_a_second_phase_keeps_the_head(maker: Maker) -> None:
    first = maker.checkpoint()
    other = "vanilla" if first.settings.head != "vanilla" else "model1"
    with pytest.raises(InputError, match=f"has the head {first.settings.head}"):
        cross_encoder.train(
            maker.analysed, [], [], backbone=load_backbone(maker._bert), start=first,
            settings=replace(SHORT, head=other),
        )  # fmt: skip
    with pytest.raises(InputError, match="not from a bm25"):
        cross_encoder.train(
            maker.analysed, [], [], backbone=load_backbone(maker._bert), start=maker.bm25,
            settings=SHORT,
        )  # fmt: skip


@pytest.mark.slow
def test_indexing_tells_of_windows_that_leave_words_out(
    maker: Maker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words: dict[str, Any] = {"chunking": "words", "chunks": 30, "combine": "max"}
    checkpoint = maker.checkpoint(**words, window=4, stride=2)
    maker.bundle(tmp_path, checkpoint)
    assert "windows" not in caplog.text
    loose = replace(checkpoint, settings=replace(checkpoint.settings, window=60, stride=60,
                                                 max_tokens=13))  # fmt: skip
    maker.bundle(tmp_path / "loose", loose)
    assert re.search(r"in \d+ of 48 sampled documents some words are in none", caplog.text)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["model1", "cedr_pacrr"])
def test_an_expansion_is_no_word_of_the_query(maker: Maker, tmp_path: Path, head: str) -> None:
    checkpoint = maker.checkpoint(head=head, expansion="mask", max_query_tokens=12)
    loaded = load(maker.bundle(tmp_path, checkpoint), device="cpu")
    (hit,) = loaded.rank("red fruit", ["red apple"], pipeline=RERANK, explain=True)
    assert hit.explanation is not None
    if head == "model1":
        assert {part.query_token for part in hit.explanation.parts} == {
            ("wordpieces", "red"), ("wordpieces", "fruit")
        }  # fmt: skip


def test_a_query_without_pieces_is_explained_by_nothing(ranker: CrossEncoder) -> None:
    query = QueryContext("\u200b", ranker.analyzer.begin())
    candidates = TextCandidates(["red apple"], query.analysis)
    explanation = ranker.explain(query, candidates)
    assert explanation.parts == ()
    assert explanation.value == ranker.score(query, candidates)[0] == 0


def test_it_only_rescores(ranker: CrossEncoder) -> None:
    with pytest.raises(InputError, match="cannot retrieve"):
        ranker.retrieve(QueryContext("red", ranker.analyzer.begin()), 3)


def test_a_likelihood_is_scaled_by_the_querys_length(ranker: CrossEncoder) -> None:
    query = QueryContext("the red apple", ranker.analyzer.begin())
    assert ranker.scale(query) == pytest.approx(1 / 3)


def test_a_graph_of_another_shape_is_told(path: Path, ranker: CrossEncoder) -> None:
    class Broken:
        provider, on_gpu, workers = "", False, 1

        def run(self, output: str, feeds: dict[str, Any]) -> Any:
            return np.array([np.nan], np.float32)

    query = QueryContext("red", ranker.analyzer.begin())
    broken = CrossEncoder(ranker.settings, Broken(), BundleFiles(path).tokenizer())
    with pytest.raises(BundleError, match="a finite score each"):
        broken.score(query, TextCandidates(["red"], query.analysis))


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("head", "other", "head is 'other'"),
        ("chunks", 10**9, "chunks is 1000000000"),
        ("marking", None, "marking is None"),
        ("surprise", 1, "unknown setting 'surprise'"),
    ],
)
def test_damaged_settings_are_told(
    path: Path, tmp_path: Path, setting: str, value: Any, told: str
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(path, damaged)
    manifest = json.loads((damaged / "manifest.json").read_text())
    manifest["rankers"]["cross"]["settings"][setting] = value
    (damaged / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match=told):
        BundleFiles(damaged).ranker("cross")


def test_word_pieces_that_no_model_knows_are_told(path: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(path, damaged)
    pieces = np.load(damaged / "documents/wordpieces.npy")
    np.save(damaged / "documents/wordpieces.npy", np.full_like(pieces, 60_000))
    with pytest.raises(BundleError, match="past the"):
        load(damaged, device="cpu").rank("the red apple", pipeline=RERANK)


@pytest.mark.slow
def test_a_tokenizer_of_its_own(maker: Maker, tmp_path: Path) -> None:
    checkpoint = maker.checkpoint(field="", head="model1")
    path = maker.bundle(tmp_path, checkpoint)
    assert not BundleFiles(path).has("text/tokenizer.json")
    assert BundleFiles(path).has("rankers/cross/tokenizer.json")
    hits = load(path, device="cpu").rank("the red apple", pipeline=RERANK)
    assert len(hits) == 10
    stored = load(path, device="cpu").score("the red apple", ids=[hits[0].id], pipeline=RERANK)
    assert stored[0] == pytest.approx(hits[0].score)
    hit = load(path, device="cpu").explained("the red apple", hits[0].id, pipeline=RERANK)
    marked = {hit.text[at - len(hit.title) - 1 :][:3] for at, _, _ in load(path).highlight(hit)}
    assert "red" in marked


@pytest.mark.slow
def test_of_two_tokenizers_one_is_the_bundles(maker: Maker, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    first = maker.checkpoint()
    assert first.tokenizer is not None
    other = Tokenizer.from_str(first.tokenizer.to_str().replace("here", "hera"))
    rankers = {"bm25": maker.bm25, "a": first, "b": replace(first, tokenizer=other)}
    path = export_bundle(rankers, tmp_path / "b", ONE)
    fields = {
        name: each.settings.get("field")
        for name, each in BundleFiles(path).manifest.rankers.items()
    }
    assert fields == {"bm25": "lemmas", "a": "wordpieces", "b": ""}
    assert BundleFiles(path).has("rankers/b/tokenizer.json")
    indexed = load(index_bundle(path, maker.collection, tmp_path / "i"), device="cpu")
    assert len(indexed.rank("the red apple", pipeline="b", k=3)) == 3


def test_without_probes_there_is_no_proof(maker: Maker, tmp_path: Path) -> None:
    checkpoint = replace(maker.checkpoint(), probes=None)
    with pytest.raises(ExportError, match="--probes"):
        export_bundle({"cross": checkpoint}, tmp_path / "b", LOOSE)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"head": "pooled"}, "allowed are vanilla"),
        ({"combine": "sum"}, "allowed are head, first"),
        ({"field": "lemmas"}, "must be wordpieces, or empty"),
        ({"head": "marker_max"}, "choose a marking"),
    ],
)
def test_settings_are_checked(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        replace(SHORT, **changes)


@pytest.mark.slow
def test_indexing_tells_of_documents_that_are_too_long(
    maker: Maker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint = maker.checkpoint(max_tokens=20)
    maker.bundle(tmp_path, checkpoint)
    assert "it reads the first 9 word pieces of a document" in caplog.text


@pytest.mark.slow
def test_alone_in_a_bundle_it_ranks_the_callers_texts(maker: Maker, tmp_path: Path) -> None:
    loaded = load(export_bundle({"cross": maker.checkpoint()}, tmp_path / "x", ONE), device="cpu")
    texts = ["river " * 10, "red apple"]
    ranking = loaded.rank("the red fruit of the apple", documents=texts)
    scores = loaded.score("the red fruit of the apple", texts)
    assert sorted(scores.tolist(), reverse=True) == [hit.score for hit in ranking]
    assert len(loaded.rank("red", documents=["apple"] * 150, k=200)) == 150
    try_out(loaded)  # as a handler does before it serves
