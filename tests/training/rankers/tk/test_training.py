from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.kinds import TinyRankers, tiny_options

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.tk import ARCHITECTURES
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.conformer_kernel import layers
from ranklet.training.rankers.tk import training as tk
from ranklet.training.rankers.tk.options import TKNetwork
from ranklet.training.rankers.tk.training import TK


def train(collection: Collection) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    return tk.train(collection, queries, dev, tiny_options("tk", epochs=1))


@pytest.mark.slow
def test_it_trains_in_parts_and_reports_documents_that_are_too_long(
    tiny_collection: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = train(tiny_collection)
    assert "full attention" not in caplog.text
    monkeypatch.setattr(layers, "AT_ONCE", 1 << 12)  # one pair: 4 heads x 32 x 32 terms, padded
    assert train(tiny_collection).training["steps"] == whole.training["steps"]
    assert "lower max_document_terms" not in caplog.text
    monkeypatch.setattr(layers, "AT_ONCE", 50)
    train(tiny_collection)
    assert "lower max_document_terms" in caplog.text


@pytest.fixture
def checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("tk")


def test_the_checkpoint_says_what_it_is(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    back = read_checkpoint(checkpoints["tk"].save(tmp_path / "c"))
    assert (back.kind, back.network["attention"]) == ("tk", "full")
    assert tk.load(back).network == tk.load(checkpoints["tk"]).network
    assert tk.load(checkpoints["tkl"]).network.architecture == "tkl"
    with pytest.raises(InputError, match="is a tk and the settings are those of a tkl"):
        tk.load(replace(back, settings=checkpoints["tkl"].settings))
    with pytest.raises(InputError, match="no tk"):
        tk.load(checkpoints["bm25"])
    with pytest.raises(InputError, match="lacks 'vocabulary'"):
        tk.load(replace(back, network={}))


QUERY = torch.tensor([[5, 9, 1, 3], [4, 4, 8, 0]])
DOCUMENTS = torch.tensor(
    [[7, 5, 5, 20, 1, 11, 12, 9, 30, 31, 5, 9, 33], [4, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
)


@pytest.fixture(params=ARCHITECTURES)
def model(request: pytest.FixtureRequest) -> TK:
    sizes = TKNetwork(
        40, hidden=8, layers=1, heads=2, dropout=0.0, architecture=request.param, chunk=4,
        overlap=2, window=3, stride=2, regions=2,
    )  # fmt: skip
    with seeded(7):
        return TK(sizes)


def test_every_parameter_learns(model: TK) -> None:
    model.latent(QUERY, DOCUMENTS).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if "projections.bias" not in name:  # attention ignores what all keys share
            assert parameter.grad.abs().max() > 0, name
