import json
import shutil
import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from tests.kinds import TinyRankers

from ranklet.commands import main
from ranklet.commands.train import FELL_SHORT
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.wordpieces import padding_token
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.rankers.dense import DenseSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import TextPairs, tokenise
from ranklet.training.pretrained.backbone import Backbone, load_backbone
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.network import DenseNetwork, pool
from ranklet.training.rankers.dense.options import Options
from ranklet.training.rankers.dense.training import in_batch_loss

if TYPE_CHECKING:
    from tokenizers import Tokenizer

pytestmark = pytest.mark.slow


OPTIONS = Options(
    learning_rate=1e-3, epochs=25, device="cpu", batch=8, max_query_tokens=12,
    max_document_tokens=16, loss="margin",
)  # fmt: skip


def encode_tokens(
    tokenizer: "Tokenizer", texts: list[str], max_tokens: int, segment: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows = np.arange(len(texts))
    tokens = tokenise(tokenizer, texts, max_tokens)
    return encoder_inputs(tokens, rows, padding_token(tokenizer), segment)


def train(collection: Collection, backbone: Path, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return dense_training.train(
        collection, queries, dev, replace(OPTIONS, backbone=backbone, **changes)
    )


@given(st.data())
def test_the_loss_is_multi_label_margin_loss(data: st.DataObject) -> None:
    queries, documents = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 7))
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(size=(queries, documents)).astype(np.float32))
    relevant = rng.random((queries, documents)) < 0.4
    relevant[np.arange(queries), rng.integers(0, documents, queries)] = True
    labels = np.full((queries, documents), -1)  # indices of relevant ones, then -1
    for row, known in zip(labels, relevant, strict=True):
        places = np.flatnonzero(known)
        row[: len(places)] = places
    expected = torch.nn.MultiLabelMarginLoss()(scores, torch.from_numpy(labels))
    found = in_batch_loss(scores, torch.from_numpy(relevant))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)


def test_the_mean_leaves_padding_out() -> None:
    states = torch.arange(12.0).reshape(1, 4, 3)
    mask = torch.tensor([[1, 1, 0, 0]])
    assert pool(states, mask, "mean").tolist() == [[1.5, 2.5, 3.5]]
    assert pool(states, torch.zeros_like(mask), "mean").tolist() == [[0, 0, 0]]


def test_training_and_serving_cut_texts_into_the_same_tokens(tiny_tokenizer: "Tokenizer") -> None:
    texts = ["red apple", "the old river is old here here here", "", "unknown-word 42"]
    serving = Encoder(None, "", tiny_tokenizer, 1)  # type: ignore[arg-type]
    for most in (3, 5, 64):
        tokens = tokenise(tiny_tokenizer, texts, most)
        rows = [tokens.ids[a:b].tolist() for a, b in pairwise(tokens.offsets)]
        assert rows == serving.token_ids(texts, most)[0]


def test_a_text_has_the_same_vector_alone_and_in_a_batch(tiny_backbone: Backbone) -> None:
    model = DenseNetwork(tiny_backbone.model, DenseSettings(similarity="dot")).eval()
    texts = ["red apple", "the old river is old here here here here"]
    with torch.no_grad():
        together = model(*encode_tokens(tiny_backbone.tokenizer, texts, 16, 1))
        alone = model(*encode_tokens(tiny_backbone.tokenizer, texts[:1], 16, 1))
        as_query = model(*encode_tokens(tiny_backbone.tokenizer, texts[:1], 16, 0))
    assert together.shape == (2, 32)
    torch.testing.assert_close(alone[0], together[0], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(alone, as_query, atol=1e-3)


@pytest.fixture(scope="module")
def learned(tiny_collection: Collection, tiny_bert: Path) -> Checkpoint:
    return train(tiny_collection, tiny_bert, evaluations=6)


def test_it_learns(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert len(course) > 5
    assert learned.training["best"] > course[0] + 0.2
    assert learned.settings == DenseSettings(12, 16, 32)


def test_transformers_opens_the_checkpoint(learned: Checkpoint, tmp_path: Path) -> None:
    from transformers import AutoModel

    folder = learned.save(tmp_path / "c")
    theirs = DenseNetwork(load_backbone(folder).model, learned.settings)
    ours = dense_training.load(read_checkpoint(folder), attention="eager")
    assert isinstance(AutoModel.from_pretrained(folder), torch.nn.Module)
    assert learned.tokenizer is not None
    inputs = encode_tokens(learned.tokenizer, ["red fruit", "old stream"], 12, 0)
    with torch.no_grad():
        torch.testing.assert_close(ours(*inputs), theirs(*inputs), atol=1e-5, rtol=1e-5)
    assert "tiny-bert" not in (folder / "config.json").read_text()  # no place of this machine
    assert learned.training["backbone"] == "tiny-bert"


@pytest.mark.parametrize("negatives", ["bm25", "random"])
def test_hard_negatives_stand_behind_the_relevant_documents(
    tiny_collection: Collection, tiny_bert: Path, tiny_tokenizer: "Tokenizer", negatives: str
) -> None:
    pairs = TextPairs(
        list(tiny_collection.documents()), read_split(tiny_collection, "train"), tiny_tokenizer,
        replace(OPTIONS, negatives=negatives),
    )  # fmt: skip
    for batch in pairs.batches(0):
        relevant = pairs.relevant(batch)
        size = len(batch.queries)
        assert relevant.shape == (size, 2 * size)
        assert relevant[np.arange(size), np.arange(size)].all()
        assert not relevant[np.arange(size), size + np.arange(size)].any()
    assert [each.documents.tolist() for each in pairs.batches(1)] == [
        each.documents.tolist() for each in pairs.batches(1)
    ]
    found = train(tiny_collection, tiny_bert, epochs=1, negatives=negatives)
    assert found.training["options"]["negatives"] == negatives


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("more", [[], ["--negatives", "mined", "--mine-every", "2"]])
def test_ctrl_c_then_resume_through_the_command_is_the_same_to_the_bit(
    tiny_collection: Collection,
    tiny_bert: Path,
    tmp_path: Path,
    more: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def arguments(name: str) -> list[str]:
        made = ["train", "dense", str(tiny_collection.path), "-o", str(tmp_path / name)]
        made += ["--split", "train", "--tune", "dev", "--backbone", str(tiny_bert)]
        made += ["--max-document-tokens", "16"]
        return [*made, "--loss", "margin", *more, "--epochs", "3", "--batch", "8", "--lr", "0.001"]

    assert main(arguments("whole")) == FELL_SHORT  # by its few steps
    loss, calls = dense_training.in_batch_loss, [0]

    def interrupting(scores: torch.Tensor, relevant: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        if calls[0] == 4:
            signal.raise_signal(signal.SIGINT)
        return loss(scores, relevant)

    monkeypatch.setattr(dense_training, "in_batch_loss", interrupting)
    assert main(arguments("parts")) == 130
    assert f"--resume goes on from {tmp_path / 'parts.run'}" in capsys.readouterr().err
    assert not (tmp_path / "parts").exists()
    assert main(arguments("parts")) == 1  # it neither replaces the state nor ignores it
    assert main([*arguments("parts"), "--resume"]) == FELL_SHORT
    whole, parts = (read_checkpoint(tmp_path / name).weights for name in ("whole", "parts"))
    for name, values in whole.items():
        np.testing.assert_array_equal(parts[name], values)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]


@pytest.fixture(scope="module")
def sentence_backbone(tiny: TinyRankers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tiny BERT as a sentence encoder with a dense layer, prompts and other pooling."""
    folder = Path(shutil.copytree(tiny.data.bert, tmp_path_factory.mktemp("sentence") / "model"))
    modules = ["", "1_Pooling", "2_Dense"]
    types = ["Transformer", "Pooling", "Dense"]
    described = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{name}"}
        for at, (path, name) in enumerate(zip(modules, types, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(described))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode": "cls"}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "2_Dense").mkdir()
    layer = {
        "in_features": 32,
        "out_features": 16,
        "bias": False,
        "activation_function": "torch.nn.Tanh",
    }
    (folder / "2_Dense" / "config.json").write_text(json.dumps(layer))
    weight = np.random.default_rng(0).normal(size=(16, 32)).astype(np.float32)
    save_file({"linear.weight": weight}, folder / "2_Dense" / "model.safetensors")
    prompts = {"prompts": {"query": "ask ", "passage": "text "}, "similarity_fn_name": "dot"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


def test_a_softmax_with_mined_negatives_learns(tiny: TinyRankers, tiny_bert: Path) -> None:
    learned = train(
        tiny.data.collection, tiny_bert, loss="softmax", negatives="mined", mine_every=3,
        similarity="cosine",
    )  # fmt: skip
    assert learned.training["best"] > learned.training["comparison"]["before"]
    assert learned.training["steps"] == 25 * -(-learned.training["queries"] // OPTIONS.batch)


def test_training_keeps_what_its_encoder_does_after_the_transformer(
    tiny: TinyRankers, sentence_backbone: Path, tmp_path: Path
) -> None:
    learned = train(tiny.data.collection, sentence_backbone, epochs=1)
    settings = learned.settings
    assert (settings.pooling, settings.similarity, settings.dimension) == ("cls", "dot", 16)
    assert (settings.query_prompt, settings.document_prompt) == ("ask ", "text ")
    assert settings.document_segment == 0
    again = train(tiny.data.collection, learned.save(tmp_path / "c"), epochs=1)
    assert (again.settings.pooling, again.settings.dimension) == ("cls", 16)
    assert again.weights["after.0.linear.weight"].shape == (16, 32)
    cosine = train(
        tiny.data.collection, sentence_backbone, epochs=1, similarity="cosine", segments="distinct"
    )
    assert (cosine.settings.similarity, cosine.settings.document_segment) == ("cosine", 1)
