"""A Conformer-Kernel's network and its impacts are proven, each against PyTorch."""

from pathlib import Path

import numpy as np
import pytest
from tests.corpus.rankers.conformer_kernel.reference import FORMS, QUERIES, by_pytorch, opened
from tests.kinds import CONFORMER_SIZES, VARIANTS

from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.rankers.conformer_kernel.indexing import known_words
from ranklet.export.onnx.fp32_head import HEAD
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.encoder import VARIANTS as FILES
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint

pytestmark = pytest.mark.slow


def test_variants_change_the_encoder_and_leave_the_pooling_in_32_bits(exported: Path) -> None:
    import onnx

    models = {name: onnx.load(str(exported / "rankers/ndrm3" / FILES[name])) for name in VARIANTS}
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
    terms = len(known_words(BundleFiles(exported), "ndrm3"))
    shape = [4 + terms, CONFORMER_SIZES["hidden"]]  # padding, unknown words, <S> and </S>
    tables = {
        name: [each for each in model.graph.initializer if [*each.dims] == shape]
        for name, model in models.items()
    }
    assert [len(each) for each in tables.values()] == [1, 1, 1]


def test_the_proof_of_the_impacts_is_in_the_bundle(indexed: Bundle) -> None:
    reports = read_reports(indexed.files.path)
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
def test_onnx_gives_pytorchs_order(
    form: str, whole: BundleFiles, checkpoints: dict[str, Checkpoint]
) -> None:
    """The caller's own texts are scored as stored ones are, by the model itself."""
    ranker, documents = opened(whole, form), whole.documents
    assert documents is not None
    texts = list(map(ranked_text, documents.titles, documents.texts))
    for text in QUERIES[:3]:
        analysis = whole.analyzer.begin()
        found = ranker.score(QueryContext(text, analysis), TextCandidates(texts, analysis)).values
        model = by_pytorch(checkpoints[form], whole, text)
        constant = model - found
        np.testing.assert_allclose(
            constant, constant.mean(), atol=2e-4 * max(1.0, float(model.std()))
        )
