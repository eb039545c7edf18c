import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models import transformer_folder
from tokenizers import Tokenizer

from ranklet.commands import main
from ranklet.commands.train import FELL_SHORT
from ranklet.corpus.collections.collection import Collection, Document
from ranklet.runtime.errors import InputError
from ranklet.training.errors import TrainingError
from ranklet.training.pretrained.backbone import Backbone, load_backbone
from ranklet.training.pretrained.options import PretrainingOptions
from ranklet.training.pretrained.pretraining import MaskedLM, MaskedTexts, mask_pieces, pretrain

QUICK = PretrainingOptions(
    learning_rate=3e-3, epochs=15, device="cpu", evaluate_every=10, batch=8, max_tokens=16,
    titles=False,
)  # fmt: skip


def test_of_the_pieces_15_percent_are_hidden() -> None:
    ids = np.random.default_rng(1).integers(5, 1000, (200, 500))
    ids[:, 0], ids[:, 400:] = 2, 0
    present = np.broadcast_to(np.arange(500) < 400, ids.shape)
    found = mask_pieces(ids, present, (0, 2), 4, 1000, np.random.default_rng(0))
    asked = found.labels != -100
    assert not asked[:, 0].any()
    assert not asked[:, 400:].any()
    assert asked[:, 1:400].mean() == pytest.approx(0.15, abs=0.005)
    np.testing.assert_array_equal(found.labels[asked], ids[asked])
    np.testing.assert_array_equal(found.input_ids[~asked], ids[~asked])
    shown = found.input_ids[asked]
    assert (shown == 4).mean() == pytest.approx(0.8, abs=0.01)
    assert (shown == ids[asked]).mean() == pytest.approx(0.1, abs=0.01)


def test_long_documents_become_several_texts_and_masks_depend_on_the_epoch(
    tiny_backbone: Backbone,
) -> None:
    masked = MaskedTexts(["red apple " * 30, "old river"], tiny_backbone.tokenizer, QUICK)
    assert sum(len(rows) for _, rows in masked.batches(0)) == 5  # 60 pieces by 14, one held out
    first, again, later = (masked.masked(masked.batches(epoch)[0]) for epoch in (0, 0, 1))
    np.testing.assert_array_equal(first.input_ids, again.input_ids)
    assert (first.labels != -100).sum() != (later.labels != -100).sum() or (
        first.input_ids.shape != later.input_ids.shape or (first.input_ids != later.input_ids).any()
    )


def test_a_tokenizer_that_adds_no_tokens_will_do(tiny_backbone: Backbone) -> None:
    plain = {**json.loads(tiny_backbone.tokenizer.to_str()), "post_processor": None}
    tokenizer = Tokenizer.from_str(json.dumps(plain))
    masked = MaskedTexts(["red apple", "old river"], tokenizer, QUICK)
    (learned,) = masked.batches(0)
    assert masked.masked(learned).input_ids.shape == (1, 2)


@pytest.mark.slow
def test_an_encoder_with_another_mask_and_no_segments_is_pretrained(
    tiny_documents: list[Document], tmp_path: Path
) -> None:
    folder = transformer_folder(tmp_path / "model", "modernbert", "ForMaskedLM")
    options = replace(QUICK, backbone=folder, epochs=1, steps=1)
    _, progress = pretrain(tiny_documents, options)
    assert progress.steps == 1


def test_it_learns_to_tell_what_is_hidden(tiny_documents: list[Document], tiny_bert: Path) -> None:
    _, progress = pretrain(tiny_documents, replace(QUICK, backbone=tiny_bert))
    course = [value for _, value in progress.evaluations]
    assert max(course) > course[0] + 1  # nats a piece


@pytest.mark.slow
def test_an_interrupted_pretraining_resumes_to_the_same_bits(
    tiny_documents: list[Document], tiny_bert: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = replace(QUICK, backbone=tiny_bert, epochs=3, save_every=2)
    whole, _ = pretrain(tiny_documents, options)
    real, calls = MaskedLM.forward, 0

    def broken(self: MaskedLM, *inputs: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += self.training
        return real(self, *inputs) * (float("nan") if calls == 7 else 1)

    options = replace(options, folder=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(MaskedLM, "forward", broken)
        with pytest.raises(TrainingError, match="step 7"):
            pretrain(tiny_documents, options)
    found, _ = pretrain(tiny_documents, replace(options, resume=True))
    np.testing.assert_array_equal(found.word_vectors(), whole.word_vectors())


def test_a_text_without_hidden_pieces_has_no_loss(tiny_backbone: Backbone) -> None:
    model = MaskedLM(tiny_backbone.model)
    ids = torch.tensor([[2, 10, 3]])
    loss = model(ids, torch.ones_like(ids), torch.full_like(ids, -100))
    assert loss.item() == 0
    loss.backward()


def test_what_is_not_allowed_is_refused(tiny_documents: list[Document], tiny_bert: Path) -> None:
    options = replace(QUICK, backbone=tiny_bert)
    with pytest.raises(InputError, match="reads at most 64"):
        pretrain(tiny_documents, replace(options, max_tokens=65))
    with pytest.raises(InputError, match="at least two texts"):
        pretrain([Document("a", "", ""), Document("b", "", "")], options)
    with pytest.raises(InputError, match="batch is 0"):
        replace(options, batch=0)


def test_the_command_writes_a_backbone(
    tiny_collection: Collection, tiny_bert: Path, tmp_path: Path
) -> None:
    output = tmp_path / "adapted"
    arguments = ["pretrain", str(tiny_collection.path), "-o", str(output)]
    arguments += ["--backbone", str(tiny_bert), "--max-tokens", "16", "--lr", "1e-3"]
    assert main(arguments) == FELL_SHORT  # by its few steps
    assert [each.name for each in tmp_path.iterdir()] == ["adapted"]
    before, after = load_backbone(tiny_bert), load_backbone(output)
    assert after.tokenizer.to_str() == before.tokenizer.to_str()
    assert not np.allclose(after.word_vectors(), before.word_vectors())
    assert main(arguments) == 1  # it is there already
