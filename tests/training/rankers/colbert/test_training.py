"""MaxSim in PyTorch against plain loops, and ColBERT's training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tests.kinds import TinyRankers, tiny_options
from tests.scored import run_at

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.imported.chain import MODULES
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.colbert.network import max_sim
from ranklet.training.rankers.colbert.options import Options
from ranklet.training.rankers.colbert.training import NEW

TEXTS = ["red apple", "the old river is here here", "", "winter"]


def train(collection: Collection, backbone: Path | None, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    options = tiny_options("colbert", backbone=backbone, **changes)
    return colbert.train(collection, queries, dev, options)


def test_max_sim_is_the_sum_of_best_products_as_it_is_served() -> None:
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(2, 3, 8)).astype(np.float32)
    documents = rng.normal(size=(4, 5, 8)).astype(np.float32)
    kept = np.array([[1, 1, 1], [1, 0, 1]], bool)
    read = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]], bool)
    scores = max_sim(*map(torch.from_numpy, (queries, documents, kept, read))).numpy()
    store = TokenStore.of([own[has] for own, has in zip(documents, read, strict=True)], "int16", 8)
    for i in range(2):
        for j in range(4):
            own = documents[j][read[j]]
            best = [max((float(q @ d) for d in own), default=0.0) for q in queries[i][kept[i]]]
            assert scores[i, j] == pytest.approx(sum(best), abs=1e-5)
        served = store.scores(quantise_query(queries[i][kept[i]], "int16"), np.arange(4))
        np.testing.assert_allclose(scores[i], served, atol=0.01)


@pytest.mark.parametrize("name", ["colbert", "expanded", "dot"])
@pytest.mark.parametrize("role", ["query", "document"])
def test_training_reads_texts_as_serving_does(tiny: TinyRankers, name: str, role: Role) -> None:
    checkpoint = tiny.checkpoints("colbert")[name]
    network, tokenizer = colbert.load(checkpoint), checkpoint.need_tokenizer()
    layout = TokenLayout(checkpoint.settings, tokenizer)
    tokens = tokenise(tokenizer, TEXTS, layout.limit(role))
    with torch.no_grad():
        vectors, kept = colbert.encode(network, layout, role, tokens, np.arange(4))
    rows, _ = layout.rows(TEXTS, role)
    assert [np.flatnonzero(own).tolist() for own in kept.numpy()] == [row.kept for row in rows]
    for at, row in enumerate(rows):
        alone = vectors_alone(network, layout, role, tokens, at)
        np.testing.assert_allclose(vectors[at].numpy()[row.kept], alone, atol=1e-5)


def vectors_alone(
    network: Any, layout: TokenLayout, role: Role, tokens: Any, at: int
) -> "np.ndarray[Any, Any]":
    """Return the vectors of a text that is encoded alone."""
    with torch.no_grad():
        vectors, kept = colbert.encode(network, layout, role, tokens, np.array([at]))
    found: np.ndarray[Any, Any] = vectors[0].numpy()[kept[0].numpy()]
    return found


@pytest.mark.parametrize("loss", ["in-batch", pytest.param("pairwise", marks=pytest.mark.slow)])
def test_training_finds_more_relevant_documents(
    tiny_collection: Collection, tiny_bert: Path, loss: str
) -> None:
    report = train(tiny_collection, tiny_bert, epochs=12, loss=loss, evaluations=5).training
    values = [each["value"] for each in report["evaluations"]]
    assert report["best"] == max(values) > 1.5 * values[0]
    assert report["comparison"]["measure"].startswith("MRR@10 in a pool")


def test_a_checkpoint_keeps_the_choices_and_a_training_starts_where_another_ended(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    collection = tiny.data.collection
    start = tiny.checkpoints("colbert")["colbert"].save(tmp_path / "start")
    saved = read_checkpoint(start)
    assert (saved.settings.query_marker, saved.settings.document_marker) == NEW
    assert saved.settings.skipped.split()[:3] == ["!", '"', "#"]
    assert [layer["out_features"] for layer in saved.network[MODULES]] == [16]
    rate = {"learning_rate": 1e-9, "epochs": 1, "start": start}
    again = train(collection, None, **rate)
    for name, values in load_file(start / "model.safetensors").items():
        np.testing.assert_allclose(again.weights[name], values, atol=1e-6)
    with pytest.raises(InputError, match="has 16 dimensions and training keeps them"):
        train(collection, None, **{**rate, "dimension": 8})


def test_wrong_options_are_refused(
    tiny_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="margin-mse learns from a --teacher"):
        Options(loss="margin-mse")
    with pytest.raises(InputError, match="leave out --loss pairwise"):
        Options(teacher=run_at(tmp_path / "s.run", tiny_collection), loss="pairwise")
    with pytest.raises(InputError, match="give --negatives bm25 or random"):
        Options(loss="pairwise", negatives="in-batch")
    with pytest.raises(SystemExit):
        main(["train", "colbert", str(tiny_collection.path), "-o", "x", "--prune", "1"])
    assert "--no-markers" in capsys.readouterr().err
