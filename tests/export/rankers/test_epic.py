"""EPIC the whole way: checkpoint → two proven encoders → both indexes → rank, explain."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kinds import LOOSE, opened

from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.epic import EPIC
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.epic import training as epic

pytestmark = pytest.mark.slow


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
        for node in wide:  # what the norm before it returns has its channels evened out
            smooth = makers[makers[node.input[0]].input[0]]
            assert smooth.name.startswith("channels_")
            assert makers[smooth.input[0]].op_type == "LayerNormalization"


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
