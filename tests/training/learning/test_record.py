import sys
from pathlib import Path
from typing import Any

import pytest
from tests.training.learning.test_loop import InterruptionError, Task

from ranklet.runtime.errors import MissingPackageError
from ranklet.training.learning.options import TrainingOptions


def curve(folder: Path, name: str) -> list[tuple[int, Any]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return [(each.step, pytest.approx(each.value)) for each in events.Scalars(name)]


@pytest.mark.slow
def test_an_interrupted_training_continues_the_curves_of_its_event_files(tmp_path: Path) -> None:
    """The seventh step was recorded, but its state was not saved."""
    events, state = tmp_path / "events", tmp_path / "state"
    every_other: dict[str, Any] = {"folder": state, "tensorboard": events, "save_every": 2}
    with pytest.raises(InterruptionError):
        Task(15).fit(**every_other)
    progress = Task().fit(**every_other, resume=True)
    points = progress.curve
    assert curve(events, "loss") == list(enumerate(points.losses, 1))
    assert curve(events, "learning_rate") == list(enumerate(points.rates, 1))
    assert curve(events, "dev") == progress.evaluations


@pytest.mark.slow
def test_a_new_training_replaces_the_curves_of_an_earlier_one(tmp_path: Path) -> None:
    Task().fit(tensorboard=tmp_path)
    progress = Task().fit(tensorboard=tmp_path, seed=8)
    assert curve(tmp_path, "dev") == progress.evaluations
    assert len(curve(tmp_path, "loss")) == progress.steps


def test_a_missing_package_is_named_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'ranklet\[tensorboard\]'"):
        TrainingOptions(tensorboard=tmp_path)
