"""Encoders are pretrained on documents as masked language models."""

from pathlib import Path

import numpy as np
import pytest
from tests.models import tokenizer, transformer_folder

from ranklet.corpus.collections.collection import Collection
from ranklet.training.pretrained.backbone import load_backbone

pretraining = pytest.importorskip("benchmarks.papers.pretraining")


def test_fifteen_percent_are_predicted_and_most_of_them_are_hidden() -> None:
    pieces = tokenizer("words").backend_tokenizer
    mask, begin = pieces.token_to_id("[MASK]"), pieces.token_to_id("[CLS]")
    ids = np.full((200, 101), pieces.get_vocab_size() - 1)
    ids[:, 0] = begin
    read, predicted = pretraining.masked(ids, pieces, np.random.default_rng(0))
    assert not predicted[:, 0].any()
    assert predicted[:, 1:].mean() == pytest.approx(0.15, abs=0.01)
    assert (read[predicted] == mask).mean() == pytest.approx(0.8, abs=0.05)
    assert (read[predicted] == ids[predicted]).mean() == pytest.approx(0.1, abs=0.02)
    assert (read[~predicted] == ids[~predicted]).all()


def test_what_is_pretrained_is_a_backbone(tiny_collection: Collection, tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "plain", head="ForMaskedLM")
    made = {}
    for steps, lowered in ((0, 0), (0, 6), (4, 0)):
        options = {"backbone": folder, "tokens": 16, "batch": 4, "learning_rate": 1e-3,
                   "steps": steps, "lowered": lowered, "seed": 0, "titles": True}  # fmt: skip
        trained = pretraining.train((tiny_collection, [], []), options)
        trained.checkpoint.save(str(tmp_path / f"{steps}.{lowered}"))
        made[steps, lowered] = load_backbone(tmp_path / f"{steps}.{lowered}", masked=True)
    start, lower, learned = made.values()
    assert learned.predicts
    assert np.allclose(start.predictions["bias"] - 6, lower.predictions["bias"])
    assert np.array_equal(start.word_vectors(), lower.word_vectors())
    assert not np.allclose(start.word_vectors(), learned.word_vectors())
