"""How long and how fast a neural ranker learns."""

from dataclasses import dataclass
from typing import Literal, get_args

from ranklet.runtime.errors import InputError

Schedule = Literal["constant", "linear", "by_epoch"]
Optimiser = Literal["adamw", "adam"]


@dataclass(frozen=True)
class Plan:
    """The course of one training.

    A step is one change of the weights, after `accumulation` batches.

    Attributes:
        learning_rate: the highest of the schedule.
        epochs: passes over the training queries.
        schedule: what follows the warm-up: constant, linear (down to 0), or by_epoch (× `decay`
            after each epoch).
        warmup: share of all steps in which the rate grows from 0, in [0, 1).
        decay: factor an epoch.
        head_rate: factor of the learning rate for what lies under ``head`` in the model.
        optimiser: adamw, or adam, whose weight decay is L2.
        betas: of the optimiser.
        weight_decay: of the optimiser.
        accumulation: batches a step; their losses are averaged.
        clip: largest norm of the gradient; None for any.
        evaluate_every: steps between evaluations; 0 for once an epoch.
        patience: evaluations without a gain after which training ends; 0 to go on.
        max_minutes: time after which training ends; the schedule then follows the clock where that
            is ahead of the steps, so that the rate comes down in time.
        save_minutes: between saves of the state that `resume` goes on from.
        save_every: steps between saves, beside those; 0 for none.
        seed: of all draws, of dropout and of the first weights.
        device: auto, cpu, cuda, cuda:1, …; auto is a GPU where there is one.
        mixed_precision: bfloat16 where the hardware multiplies it: most GPUs, processors with AMX.
    """

    learning_rate: float
    epochs: int = 1
    schedule: Schedule = "linear"
    warmup: float = 0.1
    decay: float = 0.9
    head_rate: float = 1.0
    optimiser: Optimiser = "adamw"
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.01
    accumulation: int = 1
    clip: float | None = None
    evaluate_every: int = 0
    patience: int = 0
    max_minutes: float | None = None
    save_minutes: float = 5.0
    save_every: int = 0
    seed: int = 0
    device: str = "auto"
    mixed_precision: bool = True

    def __post_init__(self) -> None:
        """Check every value."""
        for name, least in (
            ("epochs", 1), ("accumulation", 1), ("evaluate_every", 0), ("patience", 0),
            ("save_every", 0), ("seed", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InputError(f"{name} is {value!r}; it must be a whole number from {least}")
        for name in ("learning_rate", "clip", "max_minutes", "decay", "head_rate"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} is {value!r}; it must be above 0")
        if not 0 <= self.warmup < 1:
            raise InputError(f"warmup is {self.warmup!r}; it must be a share from 0 to below 1")
        for name, allowed in (("schedule", Schedule), ("optimiser", Optimiser)):
            if getattr(self, name) not in get_args(allowed):
                listed = ", ".join(get_args(allowed))
                raise InputError(f"{name} is {getattr(self, name)!r}; allowed are {listed}")


def rate(plan: Plan, done: float) -> float:
    """Return the factor of the learning rate.

    Args:
        plan: with the schedule.
        done: share of the training that is done, in [0, 1]; epochs are parts of it.

    >>> plan = Plan(1e-3, warmup=0.5)
    >>> [rate(plan, done) for done in (0, 0.25, 0.5, 0.75, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if done < plan.warmup:
        return done / plan.warmup
    if plan.schedule == "linear":
        return (1 - done) / (1 - plan.warmup)
    return plan.decay ** int(done * plan.epochs) if plan.schedule == "by_epoch" else 1.0
