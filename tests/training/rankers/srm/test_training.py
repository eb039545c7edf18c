"""Light vectors learn: distillation comes near the oracle, and fine-tuning changes what it may."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.kinds import TinyRankers
from torch.nn.functional import mse_loss

from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.ground.errors import InputError
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.rankers.colbert.network import max_sim
from ranklet.training.rankers.srm import training as srm
from ranklet.training.rankers.srm.material import Material, oracle_settings
from ranklet.training.rankers.srm.network import light_vectors, load
from ranklet.training.rankers.srm.options import FINE_TUNING, Options

SHORT: dict[str, Any] = {
    "batch": 8, "max_query_tokens": 12, "max_document_tokens": 16, "device": "cpu", "steps": 2,
    "sub_embeddings": 2, "distil_steps": 20, "distil_batch": 16, "distil_tokens": 8,
    "learning_rate": 1e-3,
}  # fmt: skip


@pytest.fixture(scope="module")
def oracle(tiny: TinyRankers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkpoint = tiny.checkpoint("colbert", similarity="dot", special_tokens=False)
    return checkpoint.save(tmp_path_factory.mktemp("oracle") / "colbert")


@pytest.fixture(scope="module")
def material(tiny: TinyRankers, oracle: Path) -> Material:
    return read(tiny, oracle)


def read(tiny: TinyRankers, oracle: Path | None, **changes: Any) -> Material:
    queries, dev = (read_split(tiny.data.collection, split) for split in ("train", "dev"))
    options = Options(oracle=oracle, **{**SHORT, **changes})
    return Material.read(tiny.data.collection, queries, dev, options)


def trained(material: Material, oracle: Path, **changes: Any) -> Checkpoint:
    own = {**SHORT, **changes}
    if not own.get("fine_tune", True):
        own = {name: each for name, each in own.items() if name not in FINE_TUNING}
    return srm.learn(material, Options(oracle=oracle, **own))


def error(material: Material, checkpoint: Checkpoint) -> float:
    """Return the mean squared error of the vectors of all tokens of some texts."""
    texts = material.documents.padded(range(40))
    with torch.inference_mode():
        vectors, _ = light_vectors(load(checkpoint), texts)
    return float(mse_loss(vectors[texts.kept], texts.context[texts.kept]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"window": 0},
        {"window": 1},
        {"window": 100},
        {"window": 0, "context": "neighbours"},
        {"sub_embeddings": 1, "window": 1},
        {"mixing": "average"},
        {"mixing": "top1"},
    ],
    ids=str,
)
def test_distillation_comes_near_the_oracle(
    material: Material, oracle: Path, changes: dict[str, Any]
) -> None:
    own = {"fine_tune": False, **changes}
    nothing = {name: getattr(Options, name) for name in ("distil_batch", "distil_tokens")}
    begun = error(material, trained(material, oracle, **own, **nothing, distil_steps=0))
    learned = error(material, trained(material, oracle, **own, distil_steps=200))
    assert learned < begun


def test_fine_tuning_lowers_the_error_of_margins(material: Material, oracle: Path) -> None:
    model: Any = load(trained(material, oracle, fine_tune=False, distil_steps=1))
    optimiser = torch.optim.Adam([*model.light.local.parameters()], lr=1e-3)
    batches = material.texts.pairs.batches(0)
    losses = []
    for _ in range(15):
        own, light = srm.score_margins(model, material, batches[0])
        loss: Any = ((own - light) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_margins_are_differences_of_max_sim() -> None:
    draw = torch.Generator().manual_seed(0)
    queries, documents = torch.randn(2, 3, 4, generator=draw), torch.randn(4, 5, 4, generator=draw)
    kept = torch.tensor([[True, True, True], [True, False, True]])
    read = torch.tensor([[True] * 5, [False] * 5, [True, False, True, False, False], [True] * 5])
    scores = max_sim(queries, documents, kept, read)
    expected = scores[[0, 1], [0, 1]] - scores[[0, 1], [2, 3]]
    torch.testing.assert_close(srm.pair_scores(queries, documents, kept, read), expected)


@pytest.mark.parametrize(
    ("changes", "has_oracle"),
    [({}, True), ({"context": "neighbours"}, False), ({"sub_embeddings": 1, "window": 0}, False)],
    ids=str,
)
def test_a_checkpoint_has_the_oracle_only_if_serving_needs_it(
    material: Material, oracle: Path, tmp_path: Path, changes: dict[str, Any], has_oracle: bool
) -> None:
    checkpoint = trained(material, oracle, **changes, fine_tune=False, distil_steps=2)
    read_again = read_checkpoint(checkpoint.save(tmp_path / "light"))
    assert any(name.startswith("oracle.") for name in read_again.weights) == has_oracle
    network = load(read_again)
    assert (network.oracle is not None) == has_oracle
    assert (
        not any(each.requires_grad for each in network.parameters())
        or not has_oracle
        or all(
            not each.requires_grad
            for each in network.oracle.parameters()  # type: ignore[union-attr]
        )
    )


def test_what_cannot_be_an_oracle_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give its checkpoint as --oracle"):
        read(tiny, None)
    dense = tiny.checkpoint("dense").save(tmp_path / "dense")
    with pytest.raises(InputError, match="the oracle is a dense"):
        read(tiny, dense)
    colbert = tiny.checkpoint("colbert")
    expands = replace(colbert.settings, expansion="attended")
    with pytest.raises(InputError, match=r"\[MASK\]"):
        oracle_settings(replace(colbert, settings=expands))


def test_options_that_do_not_go_together_are_refused(oracle: Path) -> None:
    with pytest.raises(InputError, match="--oracle and have no --backbone"):
        Options(oracle=oracle, backbone="somewhere")
    with pytest.raises(InputError, match="bm25, random"):
        Options(oracle=oracle, negatives="in-batch")
    with pytest.raises(InputError, match="leave out --no-fine-tuning"):
        Options(oracle=oracle, teacher=oracle / "ranklet.json", fine_tune=False)
    with pytest.raises(InputError, match="--minutes, --patience: for fine-tuning only"):
        Options(oracle=oracle, max_minutes=1.0, patience=9, fine_tune=False)
