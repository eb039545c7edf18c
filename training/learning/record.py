"""What is recorded of a training: its planned length, its time, and its curves."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

from ranklet.training.learning.options import TrainingOptions

MOST_POINTS = 1000  # of a curve


@dataclass
class Curve:
    """Loss and learning rate of each step."""

    losses: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def add(self, loss: float, rate: float) -> None:
        """Record the next step."""
        self.losses.append(loss)
        self.rates.append(rate)

    def thin_points(self) -> dict[str, list[Any]]:
        """Return at most `MOST_POINTS` points: ``step``, ``loss`` and ``rate``.

        A point is the mean loss of some steps, and the number, from 1, and the rate of the last.

        >>> points = Curve(losses=list(range(2500)), rates=[0.5] * 2500).thin_points()
        >>> points["step"][:2], points["loss"][:2], len(points["rate"])
        ([3, 6], [1.0, 4.0], 834)
        """
        count = len(self.losses)
        size = max(1, math.ceil(count / MOST_POINTS))
        ends = [min(begin + size, count) for begin in range(0, count, size)]
        parts = [self.losses[begin : begin + size] for begin in range(0, count, size)]
        return {
            "step": ends,
            "loss": [sum(part) / len(part) for part in parts],
            "rate": [self.rates[end - 1] for end in ends],
        }


@dataclass
class Progress:
    """How far a training is; it is saved with the training's state.

    Attributes:
        epoch: current epoch, from 0.
        at: steps done in this epoch.
        steps: steps done in all epochs.
        seconds: time spent learning, without interruptions, evaluations and saves.
        evaluation_seconds: time spent evaluating.
        evaluations: (step, value of the dev measure) of each evaluation.
        planned: how many of the evenly spaced evaluations are done, the first one not counted.
        best: (step, value) of the best evaluation.
        first_values: the dev measure of each query at the start; empty without evaluations.
        best_values: the same of the best evaluation.
        stopped: why the training ended: epochs, steps, time or patience; empty while it runs.
        curve: loss and learning rate.
    """

    epoch: int = 0
    at: int = 0
    steps: int = 0
    seconds: float = 0.0
    evaluation_seconds: float = 0.0
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    planned: int = 0
    best: tuple[int, float] | None = None
    first_values: list[float] = field(default_factory=list)
    best_values: list[float] = field(default_factory=list)
    stopped: str = ""
    curve: Curve = field(default_factory=Curve)

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> "Progress":
        """Return the progress that `saved` has described."""
        return cls(**{**state, "curve": Curve(**state["curve"])})

    def saved(self) -> dict[str, Any]:
        """Return plain values for the training's state."""
        return asdict(self)

    def report(self) -> dict[str, Any]:
        """Return plain values by name, for `Checkpoint.training`."""
        return {
            "epochs": self.epoch + (self.at > 0),
            "steps": self.steps,
            "seconds": round(self.seconds, 1),
            "evaluation_seconds": round(self.evaluation_seconds, 1),
            "stopped_by": self.stopped,
            "evaluations": [{"step": step, "value": value} for step, value in self.evaluations],
            "best_step": self.best[0] if self.best else self.steps,
        }


class Stopwatch:
    """A clock that can pause.

    Args:
        before: seconds that it has counted earlier.
    """

    def __init__(self, before: float) -> None:
        self._counted, self._since = before, monotonic()

    @property
    def seconds(self) -> float:
        """Seconds that were counted, outside of pauses."""
        return self._counted + monotonic() - self._since

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count no time during a ``with``."""
        counted = self.seconds
        try:
            yield
        finally:
            self._counted, self._since = counted, monotonic()


@dataclass(frozen=True)
class Length:
    """The planned length of a training; a time budget or patience may end it earlier.

    Attributes:
        steps: changes of the weights in all.
        per_epoch: steps of one pass over the training queries.
    """

    steps: int
    per_epoch: int

    @property
    def epochs(self) -> float:
        """Passes over the training queries; the last one may be a part."""
        return self.steps / self.per_epoch


def planned(options: TrainingOptions, batches: int) -> Length:
    """Return the length that the options ask for, with at least one batch per epoch.

    >>> planned(TrainingOptions(epochs=3, accumulation=2), 5)
    Length(steps=9, per_epoch=3)
    >>> planned(TrainingOptions(steps=100), 40).epochs
    2.5
    """
    per_epoch = math.ceil(batches / options.accumulation)
    return Length(options.steps or per_epoch * options.epochs, per_epoch)
