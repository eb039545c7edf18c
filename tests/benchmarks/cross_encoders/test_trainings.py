"""Trainings begin alike, and one that was interrupted ends with the same weights."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.cross_encoders import trainings
from benchmarks.cross_encoders.systems import MODEL1, VANILLA
from benchmarks.cross_encoders.trainings import chosen_rate, learned, qa_mix
from tests.benchmarks.cross_encoders.miniature import miniature

from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.learning.state import save_state

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_an_interrupted_training_continues(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainings, "SAVED", 1)
    whole, cut = (miniature(tiny, tmp_path / name) for name in ("whole", "cut"))
    told: dict[str, Any] = {"steps": 3, "rate": 1e-3, "pool": 3}
    expected = read_checkpoint(learned(whole, qa_mix(whole.place), MODEL1, **told))

    def interrupted(*arguments: Any) -> None:
        save_state(*arguments)
        raise KeyboardInterrupt

    source = qa_mix(cut.place)
    with monkeypatch.context() as patched:
        patched.setattr("ranklet.training.learning.loop.save_state", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learned(cut, source, MODEL1, **told)
    (state,) = cut.place.work.glob("*.state")
    found = read_checkpoint(learned(cut, source, MODEL1, **told))
    assert found.digest == expected.digest
    assert not state.exists()


@pytest.mark.slow
def test_the_rate_that_is_best_for_both_heads_is_chosen(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = miniature(tiny, tmp_path)
    source = qa_mix(scope.place)
    reached = {("vanilla", 5e-5): 0.5, ("vanilla", 1e-4): 0.6, ("vanilla", 2e-4): 0.9}
    reached |= {("BERT-Model1", 5e-5): 0.5, ("BERT-Model1", 1e-4): 0.6, ("BERT-Model1", 2e-4): 0.1}
    reached |= {("vanilla", 4e-4): 0.4, ("BERT-Model1", 4e-4): 0.7}

    class Told:
        def __init__(self, best: float) -> None:
            self.training = {"best": best}

    def fake(_: Any, __: Any, system: Any, *, rate: float, **___: Any) -> Told:
        return Told(reached[system.label, rate])

    monkeypatch.setattr(trainings, "learned", fake)
    monkeypatch.setattr(trainings, "read_checkpoint", lambda told: told)
    chosen = chosen_rate(scope, source)
    assert chosen.rate == 1e-4
    assert "| 0.0002 | 0.900 | 0.100 |" in chosen.table


@pytest.mark.slow
def test_what_a_training_depends_on_is_in_its_name(tiny: "TinyRankers", tmp_path: Path) -> None:
    scope = miniature(tiny, tmp_path)
    source = qa_mix(scope.place)
    told: dict[str, Any] = {"steps": 1, "rate": 1e-3, "pool": 3}
    first = learned(scope, source, VANILLA, **told)
    others = [
        learned(scope, source, VANILLA, **told, seed=1),
        learned(scope, source, VANILLA, **{**told, "rate": 2e-3}),
        learned(scope, source, VANILLA, **told, start=first),
    ]
    assert len({first, *others}) == 4
    assert learned(scope, source, VANILLA, **told) == first
