"""EPIC the whole way: checkpoint → two proven encoders → both indexes → rank, explain."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.explanations import leaves
from tests.kinds import LOOSE, opened, reranked_by, retrieved_by, usual_form

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.lexical.sparse_store import MOST_TERMS
from ranklet.runtime.rankers.epic import EPIC
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.epic import training as epic

ALONE, RERANK = retrieved_by("epic"), reranked_by("epic")


def test_every_variant_and_every_r_is_measured_and_in_the_bundle(exported_epic: Path) -> None:
    reports = read_reports(exported_epic)["epic"]
    named = {each.variant: each for each in reports}
    assert [each.variant for each in reports[:3]] == ["fp32", "fp16", "int8"]
    vocabulary = opened(exported_epic, "epic", EPIC).settings.vocabulary
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


def test_the_expansion_is_in_8_bits_and_the_importances_are_not(exported_epic: Path) -> None:
    import onnx

    for part, products in (("query", 0), ("document", 1)):
        model = onnx.load(str(exported_epic / "rankers/epic" / part / "model_int8.onnx"))
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
    ids, _ = ranker.encoders.document_encoder.token_ids(texts, 16)
    with torch.inference_mode():
        for each in ids:
            tokens = torch.tensor([each])
            ones = torch.ones_like(tokens)
            found.append(network.document(tokens, ones, ones, everything).numpy())
    return np.concatenate(found)


@pytest.mark.slow
def test_onnx_gives_pytorchs_vectors(
    epic_checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    import torch

    options = replace(LOOSE, variants=("fp32",), prune=10_000)
    ranker = opened(
        Path(export_bundle({"epic": epic_checkpoints["epic"]}, tmp_path / "b", options)),
        "epic",
        EPIC,
    )
    network = epic.load(epic_checkpoints["epic"])
    text = "the old river is old here"
    ids, _ = ranker.encoders.document_encoder.token_ids([text], 16)
    tokens = torch.tensor(ids)
    ones = torch.ones_like(tokens)
    with torch.inference_mode():
        weights = network.query(tokens, ones, 0 * ones)[0].numpy()
    probes = epic_checkpoints["epic"].probes
    assert probes is not None
    vectors = exact_vectors(epic_checkpoints["epic"], ranker, [text, *probes.documents]).clip(0)
    wanted = vectors[0] - np.median(vectors[1:], axis=0)  # what half of the probes have
    found = ranker.encoders.encode_whole([text]).vectors[0]
    np.testing.assert_allclose(found, np.maximum(wanted, 0), rtol=1e-3, atol=1e-4)
    (query,), cut = ranker.encoders.encode_queries([text])
    assert cut == []
    for term, weight in zip(query.terms.tolist(), query.weights, strict=True):
        assert weight == pytest.approx(weights[tokens[0].numpy() == term].sum(), rel=1e-3)
    assert len(query.terms) == len(set(ids[0])) - 2  # [CLS] and [SEP] are no terms


def test_its_lists_are_as_deep_as_those_of_other_impacts(exported_epic: Path) -> None:
    pipelines = BundleFiles(exported_epic).manifest.pipelines
    depths = [getattr(stage, "k", None) for stage in pipelines["rrf"].stages[:2]]
    assert depths == [1000, 1000]


def test_a_document_takes_four_bytes_a_value(epic_bundle: Bundle) -> None:
    files = epic_bundle.manifest.files
    bodies = [files[f"rankers/epic/vectors.{name}.npy"].bytes - 128 for name in ("terms", "values")]
    assert sum(bodies) <= 4 * 40 * len(epic_bundle)
    assert 4 * 1000 + 8 <= 4096  # r = 1000, an offset included


def test_terms_of_texts_are_kept_before_others(
    exported_epic: Path, tiny_collection: Collection
) -> None:
    ranker = opened(exported_epic, "epic", EPIC)
    tokens = {
        each
        for document in tiny_collection.documents()
        for each in ranker.encoders.document_encoder.token_ids([document.text], 16)[0][0]
    }
    priorities = ranker.encoders.priorities()
    others = np.setdiff1d(np.arange(len(priorities)), list(tokens))
    assert (priorities[others] == 1).all()
    assert 1 < priorities.max() < 3  # of 48 documents at most
    text = next(iter(tiny_collection.documents())).text
    whole = ranker.encoders.encode_whole([text]).vectors[0]
    (row,) = ranker.encoders.encode_documents([text]).rows
    kept = row[0][row[1] > 0]
    dropped = np.setdiff1d(np.flatnonzero(whole > 0), kept)
    assert len(dropped)
    weighed = whole * priorities
    assert weighed[kept].min() >= weighed[dropped].max()
    other = opened(exported_epic, "epic", EPIC)  # blocks of an interrupted indexing are kept apart
    other.encoders.per_term = lambda _: np.ones_like(priorities)
    assert other.encoders.digest != ranker.encoders.digest


def test_pruning_is_measured_against_vectors_with_values_below_0(
    epic_checkpoints: dict[str, Checkpoint], exported_epic: Path
) -> None:
    ranker, probes = opened(exported_epic, "epic", EPIC), epic_checkpoints["epic"].probes
    assert probes is not None
    vectors = exact_vectors(epic_checkpoints["epic"], ranker, probes.documents)
    vectors -= np.median(vectors.clip(0), axis=0)
    asked, _ = ranker.encoders.encode_queries(probes.queries)
    exact = np.array([weights @ vectors[:, terms].T for terms, weights in asked])
    kept = np.array([weights @ vectors[:, terms].T.clip(0) for terms, weights in asked])
    assert np.abs(kept - exact).max() > 0.01  # some values are below the floors
    whole = read_reports(exported_epic)["epic"][-1]
    assert whole.variant == f"r={vectors.shape[1]}"
    assert whole.max_error == pytest.approx(np.abs(kept - exact).max() / exact.std(), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["float32", "uint8"])
def test_the_index_in_other_forms(
    form: str, epic_checkpoints: dict[str, Checkpoint], tiny_collection: Collection, tmp_path: Path,
    epic_bundle: Bundle,
) -> None:  # fmt: skip
    options = replace(LOOSE, variants=("int8",), settings={"impacts": form})
    with usual_form():
        rankers = Path(
            export_bundle({"epic": epic_checkpoints["epic"]}, tmp_path / "rankers", options)
        )
    target = Path(index_bundle(rankers, tiny_collection, tmp_path / "b"))
    assert BundleFiles(target).has("rankers/epic/index/scale.npy") == (form == "uint8")
    assert "ranker epic" in list(verify(target))
    lost = BundleFiles(target).manifest.rankers["epic"].measured["impact_loss"]
    assert (0 < lost < 0.05) if form == "uint8" else lost == 0
    found = load(target, device="cpu").rank("quiet stream", k=20, pipeline=ALONE)
    wanted = {hit.id: hit.score for hit in epic_bundle.rank("quiet stream", k=48, pipeline=ALONE)}
    scores = [hit.score for hit in found]
    expected = [wanted[hit.id] for hit in found]
    np.testing.assert_allclose(
        scores,
        expected,
        rtol=1e-5 if form == "float32" else 0.05,
        atol=0 if form == "float32" else 0.02,
    )


@pytest.mark.slow
def test_the_command_prunes(
    epic_checkpoints: dict[str, Checkpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = epic_checkpoints["epic"].save(tmp_path / "epic")
    arguments = ["export", str(saved), "-o", str(tmp_path / "b"), "--max-ndcg-loss", "0.5"]
    for wrong in ("many", str(MOST_TERMS + 1)):
        with pytest.raises(SystemExit):
            main([*arguments, "--prune", wrong])
        assert f"prune is {wrong}" in capsys.readouterr().err.replace("'", "")
    assert main([*arguments, "--prune", "60", "--variants", "fp32"]) == 0
    assert "r=60" in capsys.readouterr().out
    assert opened(tmp_path / "b", "epic", EPIC).settings.kept == 60


@pytest.mark.slow
def test_in_a_bundle_of_other_word_pieces_it_keeps_its_own(
    epic_checkpoints: dict[str, Checkpoint], tmp_path: Path, tiny_collection: Collection
) -> None:
    from tests.word_pieces import train_tokenizer

    from ranklet.runtime.rankers.bm25 import BM25Settings

    other = train_tokenizer(iter(["another red apple and another river"] * 3), 60)
    pieces = Checkpoint("bm25", BM25Settings("wordpieces"), tokenizer=other)
    options = replace(LOOSE, variants=("int8",))
    both = {"epic": epic_checkpoints["epic"], "pieces": pieces}
    rankers = Path(export_bundle(both, tmp_path / "rankers", options))
    bundle = load(index_bundle(rankers, tiny_collection, tmp_path / "b").path, device="cpu")
    assert bundle.manifest.rankers["epic"].settings["field"] == ""
    hits = bundle.rank("old stream", k=3, pipeline=ALONE, explain=True)
    assert hits[0].explanation is not None
    sources = {each.source for each in leaves(hits[0].explanation) if each.source}
    assert sources
    assert {field for field, _ in sources} == {"rankers/epic"}
    text = f"{hits[0].title}\n{hits[0].text}"
    assert {text[each.begin : each.end] for each in bundle.highlight(hits[0])} == {"old"}
    assert "ranker epic" in list(verify(tmp_path / "b"))
