"""Neural Model 1: its sparse table, and its network, are proven against PyTorch."""

from pathlib import Path

import numpy as np
import pytest
from tests.kinds import FP32, TinyRankers, tiny_options
from tests.models import transformer_folder

from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.bundles import export_bundle
from ranklet.export.rankers.neural_model1 import exporting
from ranklet.training.rankers.neural_model1 import sparsify as sparsifying
from ranklet.training.rankers.neural_model1 import training as neural_model1
from ranklet.training.rankers.neural_model1.sparsify import DenseTableError, sparsify


@pytest.mark.slow
def test_the_sparse_table_scores_as_the_network_does(tiny: TinyRankers) -> None:
    table, network = read_reports(tiny.exported("neural_model1"))["neural"][:2]
    assert network.max_error < 1e-3  # rounding: 1e-5 on some processors, 1.4e-4 on others
    assert table.ndcg >= table.torch_ndcg - 0.02


@pytest.mark.slow
def test_padding_may_have_any_id(tiny: TinyRankers, tmp_path: Path) -> None:
    collection = tiny.data.collection
    tokenizer = transformer_folder(tmp_path / "roberta", "roberta") / "tokenizer.json"
    checkpoint = neural_model1.train(
        collection, read_split(collection, "train"), read_split(collection, "dev"),
        tiny_options("neural_model1", tokenizer=tokenizer, epochs=1),
    )  # fmt: skip
    assert checkpoint.settings.padding == 1
    bundle = Path(export_bundle({"neural": checkpoint}, tmp_path / "b.ranklet", FP32))
    assert read_reports(bundle)["neural"][1].max_error < 1e-3


def test_a_table_that_would_not_be_sparse_has_a_higher_threshold(
    tiny: TinyRankers, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = neural_model1.load(tiny.checkpoint("neural_model1"))
    everything = sparsify(module, threshold=1e-9)
    low, middle, high = np.quantile(everything.probability, [0.01, 0.5, 0.99]).tolist()
    monkeypatch.setattr(exporting, "THRESHOLDS", (low, middle, high))
    room = int(len(everything.probability) * 0.6)
    monkeypatch.setattr(sparsifying, "MOST_PAIRS", room)
    found = exporting.sparse_translations(module, None, ())
    assert found.probability.min() >= middle * (1 - 1e-6)
    assert len(found.probability) > room / 2  # and not the highest one
    monkeypatch.setattr(sparsifying, "MOST_PAIRS", 1)
    with pytest.raises(DenseTableError, match="train longer"):
        exporting.sparse_translations(module, None, ())
