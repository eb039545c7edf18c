"""SPLADE's equations against plain loops, and its training."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import TinyRankers

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.rankers.splade import SPLADESettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers.splade import training as splade
from ranklet.training.rankers.splade.network import SPLADE, flops, term_weights
from ranklet.training.rankers.splade.options import Options

pytestmark = pytest.mark.slow

OPTIONS = Options(
    learning_rate=1e-3, epochs=6, device="cpu", batch=8, max_query_tokens=12,
    max_document_tokens=16,
)  # fmt: skip


def train(collection: Collection, backbone: Path, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return splade.train(collection, queries, dev, replace(OPTIONS, backbone=backbone, **changes))


def test_a_weight_is_the_largest_saturated_logit_of_a_token() -> None:
    rng = np.random.default_rng(0)
    logits, lengths = rng.normal(size=(3, 5, 7)).astype(np.float32), (5, 2, 1)
    mask = np.array([[int(at < length) for at in range(5)] for length in lengths])
    weights = term_weights(torch.from_numpy(logits), torch.from_numpy(mask)).numpy()
    for text, length in enumerate(lengths):
        for term in range(7):
            tokens = [math.log(1 + max(0.0, logits[text, at, term])) for at in range(length)]
            assert weights[text, term] == pytest.approx(max(tokens), abs=1e-6)


def test_the_penalty_counts_terms_that_many_texts_have() -> None:
    spread, shared = torch.eye(4), torch.zeros(4, 4)
    shared[:, 0] = 1  # as many values, all of one term
    assert flops(spread).item() == pytest.approx(4 * (1 / 4) ** 2)
    assert flops(shared).item() == pytest.approx(1)


def test_training_finds_more_relevant_documents(
    tiny_collection: Collection, tiny_bert: Path
) -> None:
    report = train(tiny_collection, tiny_bert, epochs=15, queries="learned").training
    values = [each["value"] for each in report["evaluations"]]
    assert report["best"] == max(values) > 2 * values[0]


def test_a_strong_penalty_leaves_fewer_terms(tiny_collection: Collection, tiny_bert: Path) -> None:
    ids = torch.arange(10, 58).reshape(4, 12)
    work = []
    for strength in (0.0, 100.0):
        options = {"queries": "idf", "sparse_documents": strength, "learning_rate": 3e-3}
        model = splade.load(train(tiny_collection, tiny_bert, epochs=10, **options))
        with torch.no_grad():
            work.append(flops(model(ids, torch.ones_like(ids), torch.zeros_like(ids))).item())
    assert work[1] < 0.8 * work[0]


def test_an_encoder_without_predictions_begins_with_few_terms(
    tiny_collection: Collection, tiny_bert: Path
) -> None:
    model = splade.load(train(tiny_collection, tiny_bert, epochs=1, learning_rate=1e-9))
    untouched = SPLADE(load_backbone(tiny_bert, masked=True).model, SPLADESettings())
    ids = torch.arange(10, 58).reshape(4, 12)
    shares = []
    for network in (untouched, model):
        with torch.no_grad():
            weights = network(ids, torch.ones_like(ids), torch.zeros_like(ids))
        shares.append((weights > 0).float().mean().item())
    assert shares[0] > 0.5
    assert shares[1] < shares[0] / 2


@pytest.mark.parametrize("queries", ["idf", "learned"])
def test_a_query_without_a_network_weighs_each_of_its_terms_once(
    tiny: TinyRankers, queries: str
) -> None:
    checkpoint = tiny.checkpoint("splade", queries=queries)
    model = splade.load(checkpoint)
    weights = checkpoint.weights["head.weight"][:, 0]
    assert checkpoint.tokenizer is not None
    assert not weights[list(special_tokens(checkpoint.tokenizer))].any()
    ids = torch.tensor([[2, 30, 31, 30, 3], [2, 31, 3, 0, 0]])
    with torch.no_grad():
        vectors = model.queries(ids, (ids > 0).long(), torch.zeros_like(ids)).numpy()
    expected = np.zeros_like(vectors)
    expected[0, [30, 31]], expected[1, 31] = np.maximum(weights[[30, 31]], 0), max(weights[31], 0)
    np.testing.assert_array_equal(vectors, expected)


def test_idf_stays_and_learned_weights_move(tiny: TinyRankers) -> None:
    idf, learned = (
        tiny.checkpoint("splade", queries=queries).weights["head.weight"]
        for queries in ("idf", "learned")
    )
    assert (idf >= 0).all()
    assert np.abs(learned - idf).max() > 1e-3


def test_transformers_opens_a_checkpoint_as_the_model_that_it_is(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    folder = tiny.checkpoint("splade", queries="network").save(tmp_path / "splade")
    theirs = load_backbone(folder, masked=True).model
    ours = splade.load(read_checkpoint(folder))
    ids = torch.tensor([[2, 7, 8, 9, 3]])
    mask, segments = torch.ones_like(ids), torch.zeros_like(ids)
    with torch.no_grad():
        expected = term_weights(theirs(ids, attention_mask=mask).logits, mask)
        torch.testing.assert_close(ours(ids, mask, segments), expected)
