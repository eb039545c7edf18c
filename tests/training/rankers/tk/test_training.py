from dataclasses import replace
from pathlib import Path

import pytest
from tests.kinds import TinyRankers, tiny_options

from ranklet.runtime.errors import InputError
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.rankers.conformer_kernel import layers
from ranklet.training.rankers.tk import training as tk


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
