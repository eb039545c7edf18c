"""EPIC's equations against plain loops, and its training."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tests.models import transformer_folder, with_long_embeddings

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.rankers.epic import EPICSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.learning.device import seeded
from ranklet.training.pretrained.backbone import Backbone, load_backbone
from ranklet.training.rankers.epic import training as epic
from ranklet.training.rankers.epic.network import EPIC, DocumentEncoder, EPICHead
from ranklet.training.rankers.epic.options import Options
from ranklet.training.rankers.epic.training import begin_expansion

if TYPE_CHECKING:
    from tokenizers import Tokenizer

pytestmark = pytest.mark.slow

OPTIONS = Options(
    learning_rate=3e-4, epochs=15, device="cpu", batch=8, max_query_tokens=12,
    max_document_tokens=16, pairwise=True,
)  # fmt: skip
DECODER = "cls.predictions.decoder.weight"
TEXTS = ["red apple", "the old river is old here here", "", "old [SEP] castle"]


def train(collection: Collection, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return epic.train(collection, queries, dev, replace(OPTIONS, **changes))


def importance(x: float) -> float:
    """Equations 1 and 2."""
    return math.log(1 + math.log(1 + math.exp(x)))


def linear(head: dict[str, NDArray[Any]], layer: str, state: NDArray[Any]) -> Any:
    return head[f"{layer}.weight"] @ state + head[f"{layer}.bias"]


def predictions(head: dict[str, NDArray[Any]], state: NDArray[Any]) -> Any:
    """The head of BERT's masked language model: a layer, GELU, a norm, and the vocabulary."""
    inner = linear(head, "dense", state)
    inner = np.array([x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in inner])
    inner = (inner - inner.mean()) / np.sqrt(inner.var() + 1e-12)
    inner = inner * head["norm.weight"] + head["norm.bias"]
    return linear(head, "expansion", inner)


def vector_of_query(
    states: NDArray[Any], ids: list[int], special: set[int], head: dict[str, NDArray[Any]]
) -> dict[int, float]:
    """Equation 1, and that a repeated term adds up."""
    found: dict[int, float] = {}
    for state, token in zip(states, ids, strict=True):
        if token not in special:
            weight = importance(linear(head, "query_importance", state)[0])
            found[token] = found.get(token, 0.0) + weight
    return found


def vector_of_document(
    states: NDArray[Any], ids: list[int], special: set[int], head: dict[str, NDArray[Any]]
) -> NDArray[Any]:
    """Equations 2 to 4, with the authors' activation of predictions."""
    quality = 1 / (1 + math.exp(-float(linear(head, "quality", states[0])[0])))
    found = np.zeros(len(head["expansion.bias"]))
    for state, token in zip(states, ids, strict=True):
        if token not in special:
            weight = importance(float(linear(head, "document_importance", state)[0]))
            values = [weight * importance(float(x)) for x in predictions(head, state)]
            found = np.maximum(found, values)
    found[list(special)] = 0
    return quality * found


@pytest.fixture
def network(tiny_backbone: Backbone) -> EPIC:
    special = special_tokens(tiny_backbone.tokenizer)
    config = tiny_backbone.config
    with seeded(1):
        head = EPICHead(config.hidden_size, config.vocab_size, special)
        return EPIC(tiny_backbone.model, head).eval()


def inputs(tokenizer: "Tokenizer", segment: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ids, mask = tokenise(tokenizer, TEXTS, 16).padded(np.arange(len(TEXTS)), 0)
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(mask * segment)


def test_the_network_computes_the_papers_equations(
    network: EPIC, tiny_tokenizer: "Tokenizer"
) -> None:
    special = set(special_tokens(tiny_tokenizer))
    head = {
        name: each.numpy().astype(np.float64) for name, each in network.head.state_dict().items()
    }
    asked, held = inputs(tiny_tokenizer, 0), inputs(tiny_tokenizer, 1)
    with torch.no_grad():
        weights = network.query(*asked).numpy()
        whole = DocumentEncoder(network)(*held).numpy()
        some = torch.arange(0, network.head.expansion.out_features, 3)
        part = network.document(*held, some).numpy()
        of_queries = network.states(*asked).numpy().astype(np.float64)
        of_documents = network.states(*held).numpy().astype(np.float64)
    for at in range(len(TEXTS)):
        length = int(asked[1][at].sum())
        ids = asked[0][at, :length].tolist()
        wanted = vector_of_query(of_queries[at, :length], ids, special, head)
        found: dict[int, float] = {}
        for token, weight in zip(ids, weights[at, :length].tolist(), strict=True):
            found[token] = found.get(token, 0.0) + weight
        assert {token: value for token, value in found.items() if value} == pytest.approx(
            wanted, rel=1e-5
        )
        vector = vector_of_document(of_documents[at, :length], ids, special, head)
        assert vector.any() == (at != 2)  # the third text is empty
        np.testing.assert_allclose(whole[at], vector, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(part[at], vector[some.numpy()], rtol=1e-4, atol=1e-6)
    assert not weights[asked[1].numpy() == 0].any()


def test_a_text_has_the_same_vector_alone_and_in_a_batch(
    network: EPIC, tiny_tokenizer: "Tokenizer"
) -> None:
    held = inputs(tiny_tokenizer, 1)
    encode = DocumentEncoder(network)
    with torch.no_grad():
        together = encode(*held)
        alone = encode(*(each[:1, :4] for each in held))
    torch.testing.assert_close(alone[0], together[0], atol=1e-5, rtol=1e-5)


@pytest.fixture(scope="module")
def learned(tiny_collection: Collection, tiny_bert: Path) -> Checkpoint:
    """An EPIC of a random BERT whose word embeddings are as long as those of a trained one."""
    return train(tiny_collection, backbone=with_long_embeddings(tiny_bert))


def test_it_learns(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > course[0] + 0.15
    vocabulary = learned.network["vocab_size"]
    assert learned.settings == EPICSettings(12, 16, vocabulary)
    assert learned.weights["head.expansion.weight"].shape == (vocabulary, 32)
    assert learned.training["options"]["head_rate"] == 10


def test_expansion_begins_with_the_prediction_head_where_there_is_one(
    tiny_bert: Path, tmp_path: Path
) -> None:
    def head_of(folder: Path) -> tuple[EPICHead, str]:
        backbone = load_backbone(folder)
        head = EPICHead(backbone.config.hidden_size, backbone.config.vocab_size, [])
        return head, begin_expansion(head, backbone)

    words = torch.from_numpy(load_backbone(tiny_bert).word_vectors())
    head, report = head_of(tiny_bert)
    assert torch.equal(head.expansion.weight, words)
    assert torch.equal(head.dense.weight, torch.eye(32))
    assert "without a prediction head" in report

    whole = transformer_folder(tmp_path / "whole", "bert", "ForMaskedLM")
    theirs = load_file(whole / "model.safetensors")
    head, report = head_of(whole)
    layer, norm = head.dense, head.norm
    assert report == "the prediction head"
    for name, own in (
        ("transform.dense.weight", layer.weight),
        ("transform.dense.bias", layer.bias),
        ("transform.LayerNorm.weight", norm.weight),
        ("bias", head.expansion.bias),
    ):
        assert torch.equal(own, theirs[f"cls.predictions.{name}"]), name
    tied = torch.from_numpy(load_backbone(whole).word_vectors())
    assert torch.equal(head.expansion.weight, tied)

    own_matrix = {**theirs, DECODER: torch.randn(tied.shape)}
    save_file(own_matrix, whole / "model.safetensors", {"format": "pt"})
    assert torch.equal(head_of(whole)[0].expansion.weight, own_matrix[DECODER])
    narrow = {**theirs, DECODER: own_matrix[DECODER][:, :7].clone()}
    save_file(narrow, whole / "model.safetensors", {"format": "pt"})
    head, report = head_of(whole)  # not of the vectors' size, as MobileBERT's
    assert torch.equal(head.expansion.weight, tied)
    assert "without a prediction head" in report
