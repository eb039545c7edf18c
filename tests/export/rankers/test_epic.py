"""EPIC the whole way: checkpoint → two proven encoders → both indexes → rank, explain."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.commands import main
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.errors import ExportError
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.handlers.page.page import page
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.rankers.epic import EPIC, EPICSettings
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.text_pairs import BatchOptions
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers import bm25
from ranklet.training.rankers.epic import training as epic

LOOSE = ExportOptions(variants=("fp32", "fp16", "int8"), max_ndcg_loss=0.5, prune=40)
ALONE: list[dict[str, Any]] = [{"stage": "retrieve", "ranker": "epic", "k": 48}]
RERANK: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 20},
    {"stage": "rescore", "ranker": "epic"},
]


@pytest.fixture(scope="module")
def checkpoints(
    tiny_collection: Collection, tiny_analysed: AnalysedCollection, tiny_bert: Path
) -> dict[str, Checkpoint]:
    queries, dev = read_split(tiny_collection, "train"), read_split(tiny_collection, "dev")
    short = BatchOptions(batch=8, negatives="bm25", max_query_tokens=12, max_document_tokens=16)
    plan = replace(epic.PLAN, learning_rate=1e-3, epochs=10, device="cpu")
    sparse = epic.train(
        tiny_collection, queries, dev, backbone=load_backbone(tiny_bert), plan=plan, data=short
    )
    return {"bm25": bm25.train(tiny_analysed, queries), "epic": sparse}


@pytest.fixture(scope="module")
def exported(checkpoints: dict[str, Checkpoint], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_bundle(checkpoints, tmp_path_factory.mktemp("sparse") / "rankers", LOOSE)


@pytest.fixture(scope="module")
def indexed(exported: Path, tiny_collection: Collection) -> Bundle:
    target = exported.with_name("indexed.ranklet")
    return load(index_bundle(exported, tiny_collection, target), device="cpu")


def opened(path: Path) -> EPIC:
    ranker = BundleFiles(path, device="cpu").ranker("epic")
    assert isinstance(ranker, EPIC)
    return ranker


def leaves(explanation: Explanation) -> list[Explanation]:
    parts = [leaf for part in explanation.parts for leaf in leaves(part)]
    return parts or [explanation]


def test_every_variant_and_every_r_is_measured_and_in_the_bundle(exported: Path) -> None:
    reports = read_reports(exported)["epic"]
    named = {each.variant: each for each in reports}
    assert [each.variant for each in reports[:3]] == ["fp32", "fp16", "int8"]
    vocabulary = opened(exported).settings.vocabulary
    assert list(named)[3:] == ["r=40", "r=50", "r=100", f"r={vocabulary}"]
    assert named["fp32"].max_error < 1e-3  # a value that rounds to another float16
    assert named["fp32"].overlap > 0.99
    assert named["fp32"].fused["Attention"] == 4  # two layers of each encoder
    assert max(each.batch_error for each in reports) < 1e-3
    assert named["int8"].max_error < 1
    assert named["int8"].overlap > 0.8
    assert max(named[each].bytes for each in ("int8", "fp16")) < named["fp32"].bytes
    # As r grows, scores come nearer to those of whole vectors.
    errors = [named[f"r={r}"].max_error for r in (40, 50, 100)]
    assert errors == sorted(errors, reverse=True)
    assert named["r=100"].bytes <= 4 * 100


def test_the_expansion_is_in_8_bits_and_the_importances_are_not(exported: Path) -> None:
    import onnx

    for part, products in (("query", 0), ("document", 1)):
        model = onnx.load(str(exported / "rankers/epic" / part / "model_int8.onnx"))
        sizes = {each.name: list(each.dims) for each in model.graph.initializer}
        wide = [
            node for node in model.graph.node
            if node.op_type == "MatMulInteger" and sizes[node.input[1]][1] > 64
        ]  # fmt: skip
        assert len(wide) == products
        narrow = [n for n in model.graph.node if n.op_type == "MatMul" and n.input[1] in sizes]
        assert {sizes[node.input[1]][1] for node in narrow} == {1}
        makers = {name: node for node in model.graph.node for name in node.output}
        for node in wide:  # tokens are weighed before it, and their channels evened out
            smooth = makers[makers[node.input[0]].input[0]]
            assert smooth.name.startswith("channels_")
            assert makers[smooth.input[0]].op_type == "Mul"


def exact_vectors(
    checkpoint: Checkpoint, ranker: EPIC, texts: Sequence[str]
) -> NDArray[np.float32]:
    """Return φ_d in PyTorch, (texts, vocabulary) float32."""
    import torch

    network, found = epic.load(checkpoint), []
    everything = torch.arange(ranker.settings.vocabulary)
    ids, _ = ranker.document_encoder.token_ids(texts, 16)
    with torch.inference_mode():
        for each in ids:
            tokens = torch.tensor([each])
            ones = torch.ones_like(tokens)
            found.append(network.document(tokens, ones, ones, everything).numpy())
    return np.concatenate(found)


def test_onnx_gives_pytorchs_vectors(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    import torch

    options = replace(LOOSE, variants=("fp32",), prune=10_000)
    ranker = opened(export_bundle({"epic": checkpoints["epic"]}, tmp_path / "b", options))
    network = epic.load(checkpoints["epic"])
    text = "the old river is old here"
    ids, _ = ranker.document_encoder.token_ids([text], 16)
    tokens = torch.tensor(ids)
    ones = torch.ones_like(tokens)
    with torch.inference_mode():
        weights = network.query(tokens, ones, 0 * ones)[0].numpy()
    probes = checkpoints["epic"].probes
    assert probes is not None
    vectors = exact_vectors(checkpoints["epic"], ranker, [text, *probes.documents]).clip(0)
    wanted = vectors[0] - np.median(vectors[1:], axis=0)  # what half of the probes have
    found = ranker.encode_whole([text]).vectors[0]
    np.testing.assert_allclose(found, np.maximum(wanted, 0), rtol=1e-3, atol=1e-4)
    (query,), cut = ranker.encode_queries([text])
    assert cut == []
    for term, weight in zip(query.terms.tolist(), query.weights, strict=True):
        assert weight == pytest.approx(weights[tokens[0].numpy() == term].sum(), rel=1e-3)
    assert len(query.terms) == len(set(ids[0])) - 2  # [CLS] and [SEP] are no terms


def test_retrieving_and_rescoring_give_the_same_scores(indexed: Bundle) -> None:
    hits = indexed.rank("quiet stream", k=20, pipeline=ALONE)
    assert len(hits) == 20
    again = indexed.score("quiet stream", ids=[hit.id for hit in hits], pipeline=RERANK)
    np.testing.assert_allclose(again, [hit.score for hit in hits], rtol=1e-5)
    own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in hits]
    together = indexed.score("quiet stream", own, pipeline=RERANK)
    alone = [indexed.score("quiet stream", [each], pipeline=RERANK)[0] for each in own]
    assert together.tolist() == alone
    np.testing.assert_array_equal(together, again)


def test_retrieval_is_the_dot_product_with_every_vector(indexed: Bundle, exported: Path) -> None:
    ranker = opened(exported.with_name("indexed.ranklet"))
    (query,), _ = ranker.encode_queries(["old bright fortress"])
    store, expected = ranker.store, []
    for begin, end in zip(store.offsets, store.offsets[1:], strict=False):
        held = dict(zip(store.terms[begin:end].tolist(), store.values[begin:end], strict=True))
        pairs = zip(query.terms.tolist(), query.weights, strict=True)
        expected.append(sum(float(w) * float(held.get(t, 0)) for t, w in pairs))
    found = indexed.rank("old bright fortress", k=len(expected), pipeline=ALONE)
    best = sorted((value for value in expected if value > 0), reverse=True)
    np.testing.assert_allclose([hit.score for hit in found], best, rtol=1e-5)


STRONGEST = "not in the text: its strongest expansion"


def test_explanations_add_up_and_tell_terms_from_expansion(indexed: Bundle) -> None:
    places = set()
    for pipeline in (ALONE, RERANK):
        for hit in indexed.rank("old stream", k=10, pipeline=pipeline, explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, rel=1e-4, abs=1e-6)
            words = f"{hit.title} {hit.text}".split()
            asked = [each for each in hit.explanation.parts if each.query_token]
            # Every term of the query is there, with or without an impact.
            assert {each.query_token for each in asked} == {
                ("wordpieces", "old"), ("wordpieces", "stream")
            }  # fmt: skip
            for part in asked:
                token = part.label.split(":")[0]
                assert part.query_token == ("wordpieces", token)
                assert float(part.label.split()[2]) > 0  # its importance
                assert part.value == pytest.approx(sum(each.value for each in part.parts))
                for leaf in part.parts:
                    place = leaf.label.removeprefix(f"{token}, ")
                    assert (token in words) == (place == "in the text")
                    assert leaf.source == (part.query_token if token in words else None)
                    places.add(place)
    assert places == {"in the text", "by expansion"}


def test_a_query_term_without_impact_is_explained_too(indexed: Bundle) -> None:
    ranker = indexed._bundle.ranker("epic")
    assert isinstance(ranker, EPIC)
    words = ["stream", "motor", "fiddle", "world", "cold", "red", "heavy"]
    terms = np.array([indexed._bundle.analyzer.tokenizer.token_to_id(word) for word in words])
    at, number = np.argwhere(ranker.store.impacts(terms, np.arange(len(indexed))) == 0)[0].tolist()
    name = indexed._bundle.need_documents().ids[number]
    hit = indexed.explained(f"old {words[at]}", name, pipeline=ALONE)
    assert hit.explanation is not None
    (part,) = (p for p in hit.explanation.parts if p.query_token == ("wordpieces", words[at]))
    assert (part.value, part.parts, part.label[-12:]) == (0, (), "impact 0.000")


def test_an_explanation_names_the_strongest_expansion(indexed: Bundle) -> None:
    ranker = indexed._bundle.ranker("epic")
    assert isinstance(ranker, EPIC)
    tokenizer = indexed._bundle.analyzer.tokenizer
    hit = indexed.rank("old stream", k=1, pipeline=ALONE, explain=True)[0]
    assert hit.explanation is not None
    (part,) = (each for each in hit.explanation.parts if each.label == STRONGEST)
    vector = ranker.encode_whole([f"{hit.title}\n{hit.text}"]).vectors[0]
    own = set(tokenizer.encode(f"{hit.title}\n{hit.text}").ids[:15])
    wanted = [at for at in np.argsort(-vector).tolist() if at not in own][:10]
    named = [each.label.split(": impact ") for each in part.parts]
    values = [float(value) for _, value in named]
    np.testing.assert_allclose(values, vector[wanted], atol=2e-3)
    assert {name for name, _ in named[:3]} == {tokenizer.id_to_token(at) for at in wanted[:3]}
    assert part.value == 0
    assert not any(each.value or each.source or each.query_token for each in part.parts)
    # Of a caller's text it is the same.
    own_text = indexed.rank("old stream", [hit.text], pipeline=ALONE, explain=True)[0]
    assert own_text.explanation is not None
    assert own_text.explanation.parts[-1].label == STRONGEST


def test_the_words_that_match_are_highlighted(indexed: Bundle) -> None:
    hit = next(
        hit for hit in indexed.rank("old stream", k=20, pipeline=ALONE, explain=True)
        if "old" in hit.text
    )  # fmt: skip
    text = f"{hit.title}\n{hit.text}"
    spans = [each for each in indexed.highlight(hit) if text[each.begin : each.end] == "old"]
    assert len(spans) == text.split().count("old")
    assert hit.explanation is not None
    (leaf,) = [each for each in leaves(hit.explanation) if each.source == ("wordpieces", "old")]
    assert sum(each.value for each in spans) == pytest.approx(leaf.value)


def test_verify_finds_the_bundle_whole(indexed: Bundle, exported: Path) -> None:
    assert "ranker epic" in list(verify(exported.with_name("indexed.ranklet")))


def test_its_lists_are_as_deep_as_those_of_other_impacts(exported: Path) -> None:
    pipelines = BundleFiles(exported).manifest.pipelines
    depths = [getattr(stage, "k", None) for stage in pipelines["rrf"].stages[:2]]
    assert depths == [1000, 1000]


def test_a_document_takes_four_bytes_a_value(indexed: Bundle) -> None:
    files = indexed.manifest.files
    bodies = [files[f"rankers/epic/vectors.{name}.npy"].bytes - 128 for name in ("terms", "values")]
    assert sum(bodies) <= 4 * 40 * len(indexed)
    assert 4 * 1000 + 8 <= 4096  # r = 1000, an offset included


def test_without_a_collection_the_callers_texts_are_ranked(exported: Path) -> None:
    bundle = Bundle(exported, device="cpu")
    texts = ["the old river", "the red apple", "the small castle"]
    assert len(bundle.rank("old stream", texts, pipeline=ALONE)) == 3
    with pytest.raises(BundleError, match="no collection"):
        bundle.rank("old stream", pipeline=ALONE)


def test_cut_texts_are_told(indexed: Bundle) -> None:
    word = "old "
    assert indexed.rank(word * 20, pipeline=ALONE).truncated == {"epic": 1}
    ranking = indexed.rank(word, [word * 30, word], pipeline=ALONE)
    assert ranking.truncated == {"epic": 1}


def test_a_text_that_is_cut_counts_once_however_often_it_is_read(indexed: Bundle) -> None:
    again = [*ALONE, {"stage": "rescore", "ranker": "epic"}]
    texts = ["old " * 30, "old", "old " * 30]
    assert indexed.rank("old", texts, pipeline=again, explain=True).truncated == {"epic": 2}


def test_half_a_character_is_taken_for_a_question_mark(indexed: Bundle) -> None:
    half = chr(0xD83D)
    for query, texts in ((f"old {half} stream", None), ("old", [f"old {half} x", "the river"])):
        found = indexed.rank(query, texts, pipeline=ALONE, explain=True)
        whole = indexed.rank(
            query.replace(half, "?"), texts and [each.replace(half, "?") for each in texts],
            pipeline=ALONE,
        )  # fmt: skip
        assert [hit.score for hit in found] == [hit.score for hit in whole]


def test_what_was_not_read_is_not_marked(indexed: Bundle) -> None:
    text = "old the old here " + "the " * 20 + "old old"  # 16 pieces are read
    (hit,) = indexed.rank("old", [text], pipeline=ALONE, explain=True)
    whole = f"{hit.title}\n{hit.text}"
    spans = [span for span in indexed.highlight(hit) if whole[span.begin : span.end] == "old"]
    assert [span.begin for span in spans] == [1, 9]
    read = "the small castle"
    (hit,) = indexed.rank("castle", [read], pipeline=ALONE, explain=True)
    assert hit.explanation is not None
    assert hit.explanation.read is not None
    assert hit.explanation.read.spans == ((0, 3),)


@pytest.mark.slow
def test_eight_bits_find_documents_and_their_vectors_score_them(
    checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path
) -> None:
    options = replace(LOOSE, variants=("fp32",), impacts="uint8")
    export_bundle(checkpoints, tmp_path / "r", options)
    bundle = load(index_bundle(tmp_path / "r", tiny_collection, tmp_path / "b"), device="cpu")
    for query in ("quiet stream", "the old river is old", "castle"):
        hits = bundle.rank(query, k=20, pipeline=ALONE, explain=True)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        told = [hit.explanation.value for hit in hits if hit.explanation is not None]
        np.testing.assert_allclose(told, scores, rtol=1e-5)
        again = bundle.score(query, ids=[hit.id for hit in hits], pipeline=RERANK)
        np.testing.assert_allclose(again, scores, rtol=1e-5)


def test_verify_runs_the_networks_of_a_bundle_without_documents(
    exported: Path, tmp_path: Path
) -> None:
    assert "ranker epic" in list(verify(exported))
    victim = Path(shutil.copytree(exported, tmp_path / "victim"))
    for path in sorted(victim.rglob("model*.onnx")):
        path.write_bytes(b"no network")
        told = {"bytes": 10, "sha256": hashlib.sha256(b"no network").hexdigest()}
        manifest = json.loads((victim / "manifest.json").read_text("utf-8"))
        manifest["files"][path.relative_to(victim).as_posix()] = told
        (victim / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(BundleError, match="epic"):
        list(verify(victim))


def test_terms_of_texts_are_kept_before_others(exported: Path, tiny_collection: Collection) -> None:
    ranker = opened(exported)
    tokens = {
        each
        for document in tiny_collection.documents()
        for each in ranker.document_encoder.token_ids([document.text], 16)[0][0]
    }
    priorities = ranker.priorities()
    others = np.setdiff1d(np.arange(len(priorities)), list(tokens))
    assert (priorities[others] == 1).all()
    assert 1 < priorities.max() < 3  # of 48 documents at most
    text = next(iter(tiny_collection.documents())).text
    whole = ranker.encode_whole([text]).vectors[0]
    (row,) = ranker.encode_documents([text]).rows
    kept = row[0][row[1] > 0]
    dropped = np.setdiff1d(np.flatnonzero(whole > 0), kept)
    assert len(dropped)
    weighed = whole * priorities
    assert weighed[kept].min() >= weighed[dropped].max()
    other = opened(exported)  # blocks of an interrupted indexing are kept apart
    other.priorities = lambda: np.ones_like(priorities)
    assert other.digest != ranker.digest


@pytest.mark.slow
def test_auto_keeps_as_few_values_as_lose_next_to_nothing(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    options = replace(LOOSE, variants=("fp32",), prune=None)
    target = export_bundle({"epic": checkpoints["epic"]}, tmp_path / "b", options)
    ladder = [each for each in read_reports(target)["epic"] if each.variant.startswith("r=")]
    worse = [at for at, each in enumerate(ladder) if each.ndcg_loss > 0.005]
    chosen = ladder[min(worse[-1] + 1 if worse else 0, len(ladder) - 1)]
    assert opened(target).settings.kept == int(chosen.variant.removeprefix("r="))


def test_pruning_is_measured_beside_vectors_with_values_below_0(
    checkpoints: dict[str, Checkpoint], exported: Path
) -> None:
    ranker, probes = opened(exported), checkpoints["epic"].probes
    assert probes is not None
    vectors = exact_vectors(checkpoints["epic"], ranker, probes.documents)
    vectors -= np.median(vectors.clip(0), axis=0)
    asked, _ = ranker.encode_queries(probes.queries)
    exact = np.array([weights @ vectors[:, terms].T for terms, weights in asked])
    kept = np.array([weights @ vectors[:, terms].T.clip(0) for terms, weights in asked])
    assert np.abs(kept - exact).max() > 0.01  # some values are below the floors
    whole = read_reports(exported)["epic"][-1]
    assert whole.variant == f"r={vectors.shape[1]}"
    assert whole.max_error == pytest.approx(np.abs(kept - exact).max() / exact.std(), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["float32", "uint8"])
def test_the_index_in_other_forms(
    form: str, checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path,
    indexed: Bundle,
) -> None:  # fmt: skip
    options = replace(LOOSE, variants=("int8",), impacts=form)
    rankers = export_bundle({"epic": checkpoints["epic"]}, tmp_path / "rankers", options)
    target = index_bundle(rankers, tiny_collection, tmp_path / "b")
    assert BundleFiles(target).has("rankers/epic/index/scale.npy") == (form == "uint8")
    assert "ranker epic" in list(verify(target))
    lost = BundleFiles(target).manifest.rankers["epic"].settings["impact_loss"]
    assert (0 < lost < 0.05) if form == "uint8" else lost == 0
    found = load(target, device="cpu").rank("quiet stream", k=20, pipeline=ALONE)
    wanted = {hit.id: hit.score for hit in indexed.rank("quiet stream", k=48, pipeline=ALONE)}
    scores = [hit.score for hit in found]
    expected = [wanted[hit.id] for hit in found]
    np.testing.assert_allclose(
        scores,
        expected,
        rtol=1e-6 if form == "float32" else 0.05,
        atol=0 if form == "float32" else 0.02,
    )


def test_an_interrupted_index_goes_on_where_it_was(
    exported: Path, tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ranklet.export import document_encoding as encoding

    monkeypatch.setattr(encoding, "BLOCK", 16)
    encode = EPIC.encode_documents
    done: list[int] = []

    def interrupted(self: EPIC, texts: list[str]) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(EPIC, "encode_documents", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index_bundle(exported, tiny_collection, tmp_path / "b")
    again: list[int] = []

    def counted(self: EPIC, texts: list[str]) -> object:
        again.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(EPIC, "encode_documents", counted)
    target = index_bundle(exported, tiny_collection, tmp_path / "b")
    assert again == [16]  # 48 documents in blocks of 16: two were kept
    whole, parts = opened(exported.with_name("indexed.ranklet")), opened(target)
    np.testing.assert_array_equal(whole.store.values, parts.store.values)


@pytest.mark.slow
def test_the_command_prunes(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = checkpoints["epic"].save(tmp_path / "epic")
    arguments = ["export", str(saved), "-o", str(tmp_path / "b"), "--max-ndcg-loss", "0.5"]
    assert main([*arguments, "--prune", "many"]) == 1
    assert "neither a whole number nor auto" in capsys.readouterr().err
    assert main([*arguments, "--prune", "100000"]) == 1
    assert "prune is 100000" in capsys.readouterr().err
    assert main([*arguments, "--prune", "60", "--variants", "fp32"]) == 0
    assert "r=60" in capsys.readouterr().out
    assert opened(tmp_path / "b").settings.kept == 60


Change = Callable[[NDArray[Any]], NDArray[Any]]


def put(value: float, at: int = 0) -> Change:
    def change(values: NDArray[Any]) -> NDArray[Any]:
        changed = values.copy()
        changed[at] = value
        return changed

    return change


def shift_a_boundary(offsets: NDArray[Any]) -> NDArray[Any]:
    full = int(np.flatnonzero(np.diff(offsets) > 1)[0])
    return put(int(offsets[full + 1]) - 1, full + 1)(offsets)


DAMAGE: dict[str, tuple[str, Change]] = {
    "terms that do not ascend": ("vectors.terms", lambda held: held[::-1]),
    "a term past the vocabulary": ("vectors.terms", put(60_000, 39)),
    "a value that is no number": ("vectors.values", put(np.nan)),
    "an infinite value": ("vectors.values", put(np.inf)),
    "a negative value": ("vectors.values", put(-1)),
    "values in 32 bits": ("vectors.values", lambda held: held.astype(np.float32)),
    "offsets that go backwards": ("vectors.offsets", put(10_000, 3)),
    "a priority of nothing": ("priorities", put(0)),
    "a priority that is no number": ("priorities", put(np.nan)),
    "priorities of other terms": ("priorities", lambda held: held[1:]),
    "an impact of nothing": ("index/impacts", put(0)),
    "an infinite impact": ("index/impacts", put(np.inf)),
    "a bound too low": ("index/largest", lambda held: held * np.float32(0.5)),
    "a posting past the collection": ("index/documents", put(1 << 20, 7)),
    "postings of another term": ("index/offsets", shift_a_boundary),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fault", DAMAGE)
def test_verify_finds_damage_and_ranking_survives_it(
    fault: str, indexed: Bundle, exported: Path, tmp_path: Path
) -> None:
    target = tmp_path / "b"
    shutil.copytree(exported.with_name("indexed.ranklet"), target)
    name, change = DAMAGE[fault]
    path = target / "rankers/epic" / f"{name}.npy"
    np.save(path, change(np.load(path)))
    manifest = json.loads((target / "manifest.json").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest["files"][f"rankers/epic/{name}.npy"] = {
        "bytes": path.stat().st_size, "sha256": digest
    }  # fmt: skip
    (target / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError):
        list(verify(target))
    bundle = Bundle(target, device="cpu")
    for pipeline in (ALONE, RERANK):
        with contextlib.suppress(BundleError):
            scores = [hit.score for hit in bundle.rank("quiet stream", k=48, pipeline=pipeline)]
            assert np.isfinite(scores).all()


def test_a_vocabulary_past_16_bits_is_refused() -> None:
    with pytest.raises(InputError, match=r"70,000 word pieces.*16 bits: 65,536 at most"):
        EPICSettings(vocabulary=70_000)


def test_without_probes_there_is_no_proof(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match="--probes"):
        export_bundle({"epic": replace(checkpoints["epic"], probes=None)}, tmp_path / "b")


@pytest.mark.slow
def test_beside_other_word_pieces_it_keeps_its_own(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, tiny_collection: Collection
) -> None:
    from ranklet.runtime.rankers.bm25 import BM25Settings
    from ranklet.training.indexing.wordpieces import train_tokenizer

    other = train_tokenizer(iter(["another red apple and another river"] * 3), 60)
    pieces = Checkpoint("bm25", BM25Settings("wordpieces"), tokenizer=other)
    options = replace(LOOSE, variants=("int8",))
    both = {"epic": checkpoints["epic"], "pieces": pieces}
    rankers = export_bundle(both, tmp_path / "rankers", options)
    bundle = load(index_bundle(rankers, tiny_collection, tmp_path / "b"), device="cpu")
    assert bundle.manifest.rankers["epic"].settings["field"] == ""
    hits = bundle.rank("old stream", k=3, pipeline=ALONE, explain=True)
    assert hits[0].explanation is not None
    sources = {each.source for each in leaves(hits[0].explanation) if each.source}
    assert sources
    assert {field for field, _ in sources} == {"rankers/epic"}
    text = f"{hits[0].title}\n{hits[0].text}"
    assert {text[each.begin : each.end] for each in bundle.highlight(hits[0])} == {"old"}
    assert page(bundle, "old stream", hits.hits, "epic").count("data-asked") >= 4
    assert "ranker epic" in list(verify(tmp_path / "b"))
