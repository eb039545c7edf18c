"""Say how long a training is, in steps and in epochs."""

import math
from dataclasses import dataclass

from ranklet.training.learning.options import TrainingOptions


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
