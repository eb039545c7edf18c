"""A checkpoint is trained once, kept for its options, and goes on after an interruption."""

import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.training.kept_state import STATE

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

trained = pytest.importorskip("benchmarks.built.trained")
place = pytest.importorskip("benchmarks.harness.place")
OPTIONS = {"steps": 2, "batch": 4, "evaluations": 1, "max_document_tokens": 48}
SPLITS = {"learn": "train", "held_out": "train"}


@pytest.fixture
def here(tiny: "TinyRankers", tmp_path: Path) -> Any:
    """A place with the tiny collection."""
    shutil.copytree(tiny.data.collection.path, tmp_path / "data" / "tiny")
    return place.Place(tmp_path / "data", tmp_path / "work")


@pytest.mark.slow
def test_a_training_is_kept_for_its_options(
    here: Any, tiny: "TinyRankers", monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**OPTIONS, **SPLITS, "backbone": tiny.data.bert}
    path = trained.trained(here, "dense", "tiny", "named", **given)
    assert path.name == "tiny.dense.named"
    assert trained.learned(here, "dense", "tiny", "named", **given).training["steps"] == 2
    assert (here.work / "tiny.bm25").is_dir()  # which gave the negatives

    def refused(*_: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("ranklet.training.rankers.dense.training.train", refused)
    assert trained.trained(here, "dense", "tiny", "named", **given) == path
    with pytest.raises(AssertionError, match="trained again"):
        trained.trained(here, "dense", "tiny", "named", **{**given, "steps": 3})


@pytest.mark.slow
def test_an_interrupted_training_goes_on(
    here: Any, tiny: "TinyRankers", monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**OPTIONS, **SPLITS, "backbone": tiny.data.bert, "save_every": 1}
    saved = "ranklet.training.checkpoint.Checkpoint.save"
    resumed: list[bool] = []

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    training = import_module("ranklet.training.rankers.dense.training")
    train = training.train

    def watched(collection: Any, queries: Any, dev: Any, options: Any) -> Any:
        resumed.append(options.resume)
        return train(collection, queries, dev, options)

    trained.bm25_checkpoint(here, "tiny")
    monkeypatch.setattr(training, "train", watched)
    with monkeypatch.context() as patch:
        patch.setattr(saved, interrupted)
        with pytest.raises(KeyboardInterrupt):
            trained.trained(here, "dense", "tiny", **given)
    assert [each.name for each in here.work.rglob(STATE)] == [STATE]
    trained.trained(here, "dense", "tiny", **given)
    assert resumed == [False, True]
    assert list(here.work.rglob(STATE)) == []


def test_lexical_kinds_need_no_network(here: Any) -> None:
    model1 = trained.learned(here, "model1", "tiny", titles=False, **SPLITS)
    assert model1.kind == "model1"
    assert {each.name for each in here.work.iterdir() if each.is_dir()} == {
        "tiny.untitled.bm25", "tiny.untitled.model1",
    }  # fmt: skip
