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
from ranklet.training.rankers.epic.training import expansion_start

if TYPE_CHECKING:
    from tokenizers import Tokenizer

pytestmark = pytest.mark.slow

OPTIONS = Options(
    learning_rate=3e-4, epochs=15, device="cpu", batch=8, max_query_tokens=12,
    max_document_tokens=16, pairwise=True,
)  # fmt: skip
TEXTS = ["red apple", "the old river is old here here", "", "old [SEP] castle"]


def train(collection: Collection, **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return epic.train(collection, queries, dev, replace(OPTIONS, **changes))


def importance(x: float) -> float:
    """Equations 1 and 2."""
    return math.log(1 + math.log(1 + math.exp(x)))


def vector_of_query(
    states: NDArray[Any], ids: list[int], special: set[int], head: dict[str, NDArray[Any]]
) -> dict[int, float]:
    """Equation 1, and that a repeated term adds up."""
    found: dict[int, float] = {}
    for state, token in zip(states, ids, strict=True):
        if token not in special:
            weight = importance(float(head["query_importance"][0] @ state))
            found[token] = found.get(token, 0.0) + weight
    return found


def vector_of_document(
    states: NDArray[Any], ids: list[int], special: set[int], head: dict[str, NDArray[Any]]
) -> NDArray[Any]:
    """Equations 2 to 4."""
    theta = head["expansion"]
    quality = 1 / (1 + math.exp(-float(head["quality"][0] @ states[0])))
    found = np.zeros(len(theta))
    for term in range(len(theta)):
        if term in special:
            continue
        values = [
            importance(float(head["document_importance"][0] @ state)) * float(theta[term] @ state)
            for state, token in zip(states, ids, strict=True)
            if token not in special
        ]
        found[term] = quality * max(values, default=0.0)
    return found


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
        name.removesuffix(".weight"): each.numpy().astype(np.float64)
        for name, each in network.head.state_dict().items()
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
        assert (vector < 0).any() == (at != 2)  # both signs are tried; the third text is empty
        np.testing.assert_allclose(whole[at], np.maximum(vector, 0), rtol=1e-4, atol=1e-6)
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
    return train(tiny_collection, backbone=tiny_bert)


def test_it_learns(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > course[0] + 0.15
    vocabulary = learned.network["vocab_size"]
    assert learned.settings == EPICSettings(12, 16, vocabulary)
    assert learned.weights["head.expansion.weight"].shape == (vocabulary, 32)
    assert learned.training["options"]["head_rate"] == 10


def test_expansion_begins_with_the_prediction_matrix_where_there_is_one(
    tiny_bert: Path, tmp_path: Path
) -> None:
    weights = load_file(tiny_bert / "model.safetensors")
    plain = load_backbone(tiny_bert)
    assert plain.prediction is None
    start, report = expansion_start(plain)
    np.testing.assert_array_equal(start, plain.word_vectors())
    assert "without a prediction matrix" in report

    def saved(name: str, **others: torch.Tensor) -> Backbone:
        folder = tmp_path / name
        folder.mkdir()
        for file in ("config.json", "tokenizer.json"):
            (folder / file).write_bytes((tiny_bert / file).read_bytes())
        held = {f"bert.{key}": value for key, value in weights.items()}
        save_file({**held, **others}, folder / "model.safetensors", {"format": "pt"})
        return load_backbone(folder)

    bias = {"cls.predictions.bias": torch.zeros(len(plain.word_vectors()))}
    tied = saved("tied", **bias)
    np.testing.assert_array_equal(expansion_start(tied)[0], tied.word_vectors())
    matrix = torch.randn(plain.word_vectors().shape)
    own = saved("own", **bias, **{"cls.predictions.decoder.weight": matrix})
    start, report = expansion_start(own)
    np.testing.assert_array_equal(start, matrix.numpy())
    assert report == "the prediction matrix"
    narrow = saved("narrow", **bias, **{"cls.predictions.decoder.weight": matrix[:, :7].clone()})
    start, report = expansion_start(narrow)  # not of the vectors' size, as MobileBERT's
    np.testing.assert_array_equal(start, narrow.word_vectors())
    assert "without a prediction matrix" in report
