"""Train a network: the one loop of all neural rankers.

On a CPU the same seed gives the same bits, and so does a training that was interrupted and resumed.
A GPU may round differently, and with `max_minutes` the result depends on the clock.
"""

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.corpus.evaluation.significance import interval
from ranklet.corpus.progress import Steps, one_bar
from ranklet.training.errors import TrainingError
from ranklet.training.kept_state import STATE
from ranklet.training.learning.device import autocast, choose_device, seeded
from ranklet.training.learning.interruption import Interruption, delay_interrupts
from ranklet.training.learning.options import TrainingOptions, plain_options
from ranklet.training.learning.record import Progress, Stopwatch, planned
from ranklet.training.learning.weights import (
    random_states,
    read_state,
    restore_random_states,
    save_state,
)
from ranklet.training.outcome import FEWEST_STEPS, Lists, describe_comparison, shortcoming

_log = logging.getLogger(__name__)

B = TypeVar("B")
# The measure of each dev query, (queries,), or a single number where no interval is wanted.
Evaluate = Callable[[], NDArray[np.float64] | float]

# Options that may change when a training is resumed, because they do not change what is learned.
HEADS = "head.", "after."  # how the names of weights after an encoder begin
_FREE = ("max_minutes", "save_minutes", "save_every", "device")

# If the options do not say how many, because each costs time, and the best of many on the same
# queries looks better than it is.
MOST_EVALUATIONS, STEPS_PER_EVALUATION = 5, 100


class Learned(NamedTuple):
    """What is known of a finished training.

    Attributes:
        report: plain values by name, for `Checkpoint.training`.
        curve: loss and learning rate over the steps, for `Checkpoint.curve`.
    """

    report: dict[str, Any]
    curve: dict[str, list[Any]]


def learn(
    model: nn.Module,
    batches: Callable[[int], Sequence[B]],
    loss: Callable[[B], Tensor],
    options: TrainingOptions,
    evaluate: Evaluate,
    lists: Lists,
    *,
    made_of: Mapping[str, Any] | None = None,
    label: str = "training",
) -> Learned:
    """Train a model by `fit` and move it to the CPU; arguments and errors are those of `fit`.

    The lists are what `evaluate` measures on.
    """
    progress = fit(model, batches, loss, options, evaluate=evaluate, made_of=made_of, label=label)
    model.cpu()
    before, (_, after) = progress.evaluations[0][1], progress.best or progress.evaluations[0]
    gain = interval(np.array(progress.best_values), np.array(progress.first_values))
    report = {
        **(made_of or {}),
        "measure": lists.measure,
        "best": after,
        "comparison": describe_comparison(lists, before, after, gain=gain),
        "warning": shortcoming(before, after, progress.steps, gain),
        **progress.report(),
        "options": plain_options(options),
    }
    return Learned(report, progress.curve.thin_points())


def fit(
    model: nn.Module,
    batches: Callable[[int], Sequence[B]],
    loss: Callable[[B], Tensor],
    options: TrainingOptions,
    *,
    evaluate: Evaluate | None = None,
    made_of: Mapping[str, Any] | None = None,
    label: str = "training",
) -> Progress:
    """Train a model in place; it ends with the weights that had the best evaluation.

    The first evaluation is that of the start. If the options do not say how often to evaluate, the
    others are at equal distances of what is done: the share of the steps, or of the minutes if that
    is larger. The last one is at the end.

    Args:
        model: the model, which is moved to the device of the options.
        batches: returns the batches of an epoch, from 0; a function of the epoch alone.
        loss: returns the loss of a batch, a scalar; called in training mode.
        options: duration and learning rate, and where the state is saved or resumed from.
        evaluate: returns a measure of each dev query, higher is better; called in evaluation mode.
        made_of: whatever else changes what is learned, plain values by name. A training can only
            be resumed with the same values and the same options.
        label: label of the progress bar.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the state after the last whole step was saved.
        TrainingError: the loss is not finite, there is no batch, or the saved state cannot be
            resumed or is in the way.
        InputError: there is no such device.
    """
    folder = options.folder
    if folder is None and options.resume:
        raise TrainingError("resume needs the folder of the interrupted training")
    if folder is not None and not options.resume and (folder / STATE).is_file():
        raise TrainingError(
            f"{str(folder)!r} holds an interrupted training; resume it (--resume) or remove the "
            "folder"
        )
    device = choose_device(options.device)
    model.to(device)
    with seeded(options.seed):
        run = _Run(model, batches, loss, options, evaluate, device, made_of or {})
        if folder is not None and options.resume:
            run.restore(read_state(folder, device))
        run.go(label)
    model.eval()
    return run.progress


class _Run(Generic[B]):
    def __init__(
        self,
        model: nn.Module,
        batches: Callable[[int], Sequence[B]],
        loss: Callable[[B], Tensor],
        options: TrainingOptions,
        evaluate: Evaluate | None,
        device: torch.device,
        made_of: Mapping[str, Any],
    ) -> None:
        self._model, self._batches, self._loss = model, batches, loss
        self._options, self._evaluate, self._device = options, evaluate, device
        self._made_of = {
            name: json.dumps(value) for name, value in {**plain_options(options), **made_of}.items()
        }
        self._optimiser = make_optimiser(model, options, device)
        self._best_weights: dict[str, Tensor] | None = None
        self._interruption = Interruption()
        found = len(batches(0))
        if not found:
            raise TrainingError("there is no batch to learn from; judged queries are needed")
        self._length = planned(options, found)
        if self._length.steps < FEWEST_STEPS:
            _log.warning(
                "%d steps: too few (%d); give more --steps, --epochs or --minutes",
                self._length.steps, FEWEST_STEPS,
            )  # fmt: skip
        self.progress = Progress()

    def go(self, label: str) -> None:
        """Train to the end, then load the best weights."""
        progress = self.progress
        self._saved = monotonic()
        self._watch = Stopwatch(progress.seconds)
        with one_bar((label, 1.0), done=self._done) as bar, delay_interrupts() as interruption:
            self._interruption = interruption
            self._show(bar, label)
            if self._is_pending():  # first of all, so that one that only does harm ends as it began
                self._measure()
            self._model.train()
            while not progress.stopped:
                with self._interruptible():
                    steps = self._steps(progress.epoch)
                for step in steps[progress.at :]:
                    self._step(step)
                    progress.stopped = self._reason()
                    if self._is_pending():
                        self._measure()
                    self._show(bar, label)
                    if progress.stopped:
                        break
                    self._save_when_due()
                else:
                    progress.epoch += 1
                    progress.at = 0
        if self._best_weights is not None:
            self._model.load_state_dict(self._best_weights)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state.

        Raises:
            TrainingError: the state is of a training with other options, data or model.
        """
        ours, theirs = self._made_of, state.get("made_of", {})
        changed = [name for name in ours | theirs if ours.get(name) != theirs.get(name)]
        if "data" in changed:
            raise TrainingError(
                "the interrupted training learned from other judged queries or documents; resume "
                "with the same ones, or remove its folder"
            )
        if names := [name for name in changed if name not in _FREE]:
            had, has = (made_of.get(names[0], "none") for made_of in (theirs, ours))
            raise TrainingError(
                f"the interrupted training had {names[0]} {had} and this one has {has}; resume "
                "with the same options"
            )
        if state["steps_per_epoch"] != self._length.per_epoch:
            raise TrainingError(
                f"the interrupted training had {state['steps_per_epoch']} steps per epoch and this "
                f"one has {self._length.per_epoch}; resume with the same collection and batch size"
            )
        try:
            self._model.load_state_dict(state["model"])
            self._optimiser.load_state_dict(state["optimiser"])
        except (RuntimeError, ValueError) as error:
            raise TrainingError(f"the interrupted training had another model: {error}") from error
        self._best_weights = state["best_weights"]
        self.progress = Progress.restored(state["progress"])
        restore_random_states(state["random"])

    def _steps(self, epoch: int) -> list[Sequence[B]]:
        batches, size = self._batches(epoch), self._options.accumulation
        return [batches[at : at + size] for at in range(0, len(batches), size)]

    @property
    def _done(self) -> float:
        """The share of the training that is done, in steps or in minutes if that is more."""
        share = self.progress.steps / self._length.steps
        minutes = self._options.max_minutes
        return share if minutes is None else max(share, self._minutes / minutes)

    @property
    def _minutes(self) -> float:
        """How long the training has taken, evaluations included."""
        return (self.progress.seconds + self.progress.evaluation_seconds) / 60

    def _step(self, batches: Sequence[B]) -> None:
        """Change the weights once."""
        options, progress = self._options, self.progress
        # The middle of the step, so that neither end of the schedule is 0.
        middle = min(1.0, self._done + 0.5 / self._length.steps)
        now = options.learning_rate * rate(options.warmup, middle)
        set_rate(self._optimiser, options, now)
        self._optimiser.zero_grad()
        with self._interruptible():
            total = self._add_gradients(batches, now)
        if options.clip is not None:
            nn.utils.clip_grad_norm_(self._model.parameters(), options.clip)
        self._optimiser.step()
        progress.steps += 1
        progress.at += 1
        progress.seconds = self._watch.seconds
        progress.curve.add(total, now)

    def _add_gradients(self, batches: Sequence[B], now: float) -> float:
        """Return the mean loss of a step's batches, whose gradients are added to the model's."""
        total, progress = 0.0, self.progress
        for batch in batches:
            with autocast(self._device, self._options.mixed_precision):
                loss = self._loss(batch)
            total += loss.item() / len(batches)
            if not math.isfinite(total):
                raise TrainingError(
                    f"the loss is {total} at step {progress.steps + 1} (epoch "
                    f"{progress.epoch + 1}, learning rate {now:.2g}); lower the learning rate or "
                    "clip the gradient"
                )
            (loss / len(batches)).backward()  # type: ignore[no-untyped-call]
        return total

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end at once what is inside, and save the state of before it.

        It changes no weights, but random states and buffers, such as the means of BatchNorm.
        """
        random, buffers = random_states(), [each.clone() for each in self._model.buffers()]
        try:
            with self._interruption.at_once():
                yield
        except KeyboardInterrupt:
            restore_random_states(random)
            for buffer, before in zip(self._model.buffers(), buffers, strict=True):
                buffer.copy_(before)
            self._save()
            raise

    def _is_pending(self) -> bool:
        """Return whether an evaluation comes next, which an interruption may have cut off."""
        progress = self.progress
        if progress.evaluations and progress.evaluations[-1][0] == progress.steps:
            return False
        last = bool(progress.stopped and progress.evaluations)
        return progress.steps == 0 or self._due() or last

    def _due(self) -> bool:
        every, progress = self._options.evaluate_every, self.progress
        if self._evaluate is None:
            return False
        if every:
            return progress.steps % every == 0
        return self._planned > progress.planned

    @property
    def _planned(self) -> int:
        """How many of the evenly spaced evaluations belong to what is done."""
        rounding = 1e-9  # of shares such as 7/10
        count = self._options.evaluations or min(
            MOST_EVALUATIONS, max(1, self._length.steps // STEPS_PER_EVALUATION)
        )
        return int(min(1.0, self._done) * count + rounding)

    def _measure(self) -> None:
        """Evaluate, and keep the weights if they are the best so far.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; the state before the evaluation was saved.
        """
        progress, began = self.progress, monotonic()
        if self._evaluate is None:
            return
        self._model.eval()
        with (
            self._interruptible(),
            self._watch.paused(),
            torch.inference_mode(),
            autocast(self._device, self._options.mixed_precision),
        ):
            values = np.atleast_1d(np.asarray(self._evaluate(), np.float64)).tolist()
        value = float(np.mean(values))
        self._model.train()
        progress.first_values = progress.first_values or values
        progress.evaluations.append((progress.steps, value))
        progress.planned = self._planned
        progress.evaluation_seconds += monotonic() - began
        if progress.best is None or value > progress.best[1]:
            progress.best, progress.best_values = (progress.steps, value), values
            weights = self._model.state_dict()
            self._best_weights = {name: values.clone() for name, values in weights.items()}
        progress.stopped = progress.stopped or self._impatient()

    def _reason(self) -> str:
        """Return why the training ends now; empty if it goes on."""
        options, progress = self._options, self.progress
        if progress.steps == self._length.steps:
            return "epochs" if options.steps is None else "steps"
        if options.max_minutes is not None and self._minutes >= options.max_minutes:
            return "time"
        return ""

    def _impatient(self) -> str:
        """Return "patience" if it ends the training now; empty if it goes on."""
        progress, patience = self.progress, self._options.patience
        best = progress.best[0] if progress.best else 0
        since = [step for step, _ in progress.evaluations if step > best]
        return "patience" if patience and len(since) >= patience else ""

    def _show(self, bar: Steps, label: str) -> None:
        progress = self.progress
        note = f"step {progress.steps:,} of {self._length.steps:,}"
        if progress.steps:
            note += f", loss {progress.curve.losses[-1]:.4f}"
        if progress.evaluations:
            note += f", dev {progress.evaluations[-1][1]:.4f}"
        bar.reach(label, min(1.0, self._done), note)

    def _save_when_due(self) -> None:
        options, now = self._options, monotonic()
        by_time = now - self._saved >= 60 * options.save_minutes
        by_steps = options.save_every and self.progress.steps % options.save_every == 0
        if by_time or by_steps:
            self._save()

    def _save(self) -> None:
        if self._options.folder is None:
            return
        state = {
            "model": self._model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "best_weights": self._best_weights,
            "progress": self.progress.saved(),
            "random": random_states(),
            "made_of": self._made_of,
            "steps_per_epoch": self._length.per_epoch,
        }
        with self._watch.paused():
            save_state(self._options.folder, state)
        self._saved = monotonic()


def make_optimiser(
    model: nn.Module, options: TrainingOptions, device: torch.device
) -> torch.optim.Optimizer:
    """Return an optimiser; those of `HEADS` learn `head_rate` times as fast as others."""
    if options.head_rate == 1:
        groups = [{"params": list(model.parameters())}]
    else:
        named = list(model.named_parameters())
        head = [parameter for name, parameter in named if name.startswith(HEADS)]
        body = [parameter for name, parameter in named if not name.startswith(HEADS)]
        groups = [{"params": body}, {"params": head}]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=options.learning_rate,
        weight_decay=options.weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )


def set_rate(optimiser: torch.optim.Optimizer, options: TrainingOptions, now: float) -> None:
    """Set the learning rate of a step; if there is a group of the head, it is the last one."""
    for group, factor in zip(optimiser.param_groups, (1.0, options.head_rate), strict=False):
        group["lr"] = now * factor


def rate(warmup: float, done: float) -> float:
    """Return the factor of the learning rate when a share of the training, in [0, 1], is done.

    It grows from 0 during the share `warmup`, and then goes down to 0.

    >>> [rate(0.5, done) for done in (0, 0.25, 0.5, 0.75, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return done / warmup if done < warmup else (1 - done) / (1 - warmup)
