"""The one training loop of all neural rankers.

Deterministic on a CPU: the same seed gives the same bits, and so does a training that was
interrupted and resumed. A GPU's own rounding may vary. (With `max_minutes` the clock has a say,
too.)
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from ranklet.training.errors import TrainingError
from ranklet.training.learning.device import autocast, choose_device, seeded
from ranklet.training.learning.interruption import held_back
from ranklet.training.learning.optimiser import make_optimiser, set_rate
from ranklet.training.learning.plan import Plan, rate
from ranklet.training.learning.state import (
    STATE,
    random_states,
    read_state,
    restore_random_states,
    save_state,
)
from ranklet.training.progress import progress_bar

B = TypeVar("B")

# What may differ between a training and its continuation: it does not change what is learned.
_FREE = ("max_minutes", "save_minutes", "save_every", "device")


@dataclass
class Progress:
    """Where a training stands; saved with its state.

    Attributes:
        epoch: from 0, the one that is running.
        at: steps done in this epoch.
        steps: done in all.
        seconds: spent, interruptions not counted.
        evaluations: (step, value of the dev measure).
        best: the highest of them, and its step.
        stopped: why it ended: epochs, time or patience; empty while it runs.
    """

    epoch: int = 0
    at: int = 0
    steps: int = 0
    seconds: float = 0.0
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    best: tuple[int, float] | None = None
    stopped: str = ""

    def report(self) -> dict[str, Any]:
        """Return it for `Checkpoint.training`."""
        return {
            "epochs": self.epoch + (self.at > 0),
            "steps": self.steps,
            "seconds": round(self.seconds, 1),
            "stopped_by": self.stopped,
            "evaluations": [{"step": step, "value": value} for step, value in self.evaluations],
            "best_step": self.best[0] if self.best else self.steps,
        }


def fit(
    model: nn.Module,
    batches: Callable[[int], Sequence[B]],
    loss: Callable[[B], Tensor],
    plan: Plan,
    *,
    evaluate: Callable[[], float] | None = None,
    folder: Path | None = None,
    resume: bool = False,
    made_of: Mapping[str, Any] | None = None,
    label: str = "training",
) -> Progress:
    """Train a model in place; it ends with the weights that `evaluate` found best.

    Args:
        model: moved to the plan's device.
        batches: the batches of an epoch, from 0; must be a function of the epoch alone.
        loss: of a batch, a scalar; called in training mode.
        plan: how long and how fast.
        evaluate: a measure on dev queries, the higher the better; called in evaluation mode.
        folder: where the state is saved meanwhile; None for nowhere.
        resume: whether to go on from the state in `folder`.
        made_of: options beside the plan that change what is learned, plain values by name: a
            training goes on only under the same ones.
        label: of the progress bar.

    Raises:
        KeyboardInterrupt: Ctrl-C; the step that runs is finished first, and the state saved.
        TrainingError: the loss is not finite, there is nothing to learn from, or the state in
            `folder` cannot be resumed or is in the way.
        InputError: there is no such device.
    """
    if folder is None and resume:
        raise TrainingError("resume needs the folder of the interrupted training")
    if folder is not None and not resume and (folder / STATE).is_file():
        raise TrainingError(
            f"{str(folder)!r} holds a training that was interrupted; resume it, or remove the "
            "folder"
        )
    device = choose_device(plan.device)
    model.to(device)
    with seeded(plan.seed):
        run = _Run(model, batches, loss, plan, evaluate, folder, device, dict(made_of or {}))
        if folder is not None and resume:
            run.restore(read_state(folder, device))
        run.go(label)
    model.eval()
    return run.progress


def learn(
    model: nn.Module,
    batches: Callable[[int], Sequence[B]],
    loss: Callable[[B], Tensor],
    plan: Plan,
    evaluate: Callable[[], float],
    *,
    evaluations: int = 0,
    made_of: Mapping[str, Any],
    folder: Path | None,
    resume: bool,
    label: str = "training",
) -> dict[str, Any]:
    """Train a model as `fit` does, move it to the CPU, and return the report of its training.

    Args:
        model: as for `fit`.
        batches: as for `fit`.
        loss: as for `fit`.
        plan: how long and how fast.
        evaluate: as for `fit`.
        evaluations: evaluations in all if the plan does not say how often; 0 for once an epoch.
        made_of: as for `fit`; it becomes part of the report.
        folder: as for `fit`.
        resume: as for `fit`.
        label: of the progress bar.

    Returns:
        Plain values by name, for `Checkpoint.training`.
    """
    if evaluations and not plan.evaluate_every:
        steps = math.ceil(len(batches(0)) / plan.accumulation) * plan.epochs
        plan = replace(plan, evaluate_every=math.ceil(steps / evaluations))
    progress = fit(
        model, batches, loss, plan, evaluate=evaluate, folder=folder, resume=resume,
        made_of=made_of, label=label,
    )  # fmt: skip
    model.cpu()
    best = progress.best[1] if progress.best else None
    return {**made_of, "best": best, **progress.report(), "plan": asdict(plan)}


class _Run(Generic[B]):
    def __init__(
        self,
        model: nn.Module,
        batches: Callable[[int], Sequence[B]],
        loss: Callable[[B], Tensor],
        plan: Plan,
        evaluate: Callable[[], float] | None,
        folder: Path | None,
        device: torch.device,
        made_of: dict[str, Any],
    ) -> None:
        self._model, self._batches, self._loss = model, batches, loss
        self._plan, self._evaluate, self._folder, self._device = plan, evaluate, folder, device
        self._made_of = {name: json.dumps(value) for name, value in made_of.items()}
        self._optimiser = make_optimiser(model, plan, device)
        self._best_weights: dict[str, Tensor] | None = None
        self._steps_an_epoch = len(self._steps(0))
        if not self._steps_an_epoch:
            raise TrainingError("there is no batch to learn from; give judged queries")
        self.progress = Progress()

    def go(self, label: str) -> None:
        """Train to the end, then put back the best weights."""
        progress, plan = self.progress, self._plan
        self._begin = self._saved = monotonic()
        self._before = progress.seconds
        total = self._steps_an_epoch * plan.epochs
        shown: dict[str, str] = {}
        if progress.steps == 0:
            self._measure()  # a training that only does harm ends where it began
        self._model.train()
        with progress_bar(label, total, progress.steps) as bar, held_back() as interruption:
            while not progress.stopped:
                steps = self._steps(progress.epoch)
                for step in steps[progress.at :]:
                    loss = self._step(step, progress.steps / total, 1 / total)
                    progress.steps += 1
                    progress.at += 1
                    if self._due(plan.evaluate_every, len(steps)):
                        self._measure()
                    shown["loss"] = f"{loss:.4f}"
                    if progress.evaluations:
                        shown["dev"] = f"{progress.evaluations[-1][1]:.4f}"
                    bar.set_postfix(shown, refresh=False)
                    bar.update()
                    progress.seconds = self._elapsed()
                    progress.stopped = self._reason()
                    if progress.stopped:
                        break
                    self._save_when_due()
                    if interruption.asked:
                        self._save()
                        raise KeyboardInterrupt
                else:
                    if progress.epoch + 1 == plan.epochs:
                        progress.stopped = "epochs"
                    else:
                        progress.epoch += 1
                        progress.at = 0
        if progress.evaluations and progress.evaluations[-1][0] < progress.steps:
            self._measure()
        if self._best_weights is not None:
            self._model.load_state_dict(self._best_weights)

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where the state was saved.

        Raises:
            TrainingError: it is of a training with other options, data or model.
        """
        ours = {**asdict(self._plan), **self._made_of}
        theirs = {**state["plan"], **state.get("made_of", {})}
        changed = [name for name in ours if name not in _FREE and ours[name] != theirs.get(name)]
        if changed:
            name = changed[0]
            raise TrainingError(
                f"the interrupted training had {name} {theirs.get(name)}, this one has "
                f"{ours[name]}; resume with the same options"
            )
        if state["steps_an_epoch"] != self._steps_an_epoch:
            raise TrainingError(
                f"the interrupted training had {state['steps_an_epoch']} steps an epoch, this one "
                f"has {self._steps_an_epoch}; resume with the same collection and batch size"
            )
        try:
            self._model.load_state_dict(state["model"])
            self._optimiser.load_state_dict(state["optimiser"])
        except (RuntimeError, ValueError) as error:
            raise TrainingError(f"the interrupted training had another model: {error}") from error
        self._best_weights = state["best_weights"]
        self.progress = Progress(**state["progress"])
        restore_random_states(state["random"])

    def _steps(self, epoch: int) -> list[Sequence[B]]:
        found, each = self._batches(epoch), self._plan.accumulation
        return [found[at : at + each] for at in range(0, len(found), each)]

    def _step(self, batches: Sequence[B], done: float, share: float) -> float:
        """Change the weights once; returns the mean loss of the batches."""
        plan, progress = self._plan, self.progress
        done += share / 2  # the middle of the step: neither its first nor its last rate is 0
        if plan.max_minutes is not None:
            done = max(done, min(1.0, self._elapsed() / (60 * plan.max_minutes)))
        now = plan.learning_rate * rate(plan, done)
        set_rate(self._optimiser, plan, now)
        self._optimiser.zero_grad()
        total = 0.0
        for batch in batches:
            with autocast(self._device, self._plan.mixed_precision):
                loss = self._loss(batch)
            total += loss.item() / len(batches)
            if not math.isfinite(total):
                raise TrainingError(
                    f"the loss is {total} at step {progress.steps + 1} (epoch "
                    f"{progress.epoch + 1}, learning rate {now:.2g}): lower the learning rate, or "
                    "clip the gradient"
                )
            (loss / len(batches)).backward()  # type: ignore[no-untyped-call]
        if plan.clip is not None:
            nn.utils.clip_grad_norm_(self._model.parameters(), plan.clip)
        self._optimiser.step()
        return total

    def _due(self, every: int, steps: int) -> bool:
        if self._evaluate is None:
            return False
        return self.progress.steps % every == 0 if every else self.progress.at == steps

    def _measure(self) -> None:
        """Evaluate, and keep the weights where they are the best so far."""
        progress = self.progress
        if self._evaluate is None:
            return
        self._model.eval()
        with torch.inference_mode(), autocast(self._device, self._plan.mixed_precision):
            value = float(self._evaluate())
        self._model.train()
        progress.evaluations.append((progress.steps, value))
        if progress.best is None or value > progress.best[1]:
            progress.best = progress.steps, value
            weights = self._model.state_dict()
            self._best_weights = {name: each.clone() for name, each in weights.items()}

    def _reason(self) -> str:
        """Return why to end now, or nothing."""
        plan, progress = self._plan, self.progress
        if plan.max_minutes is not None and progress.seconds >= 60 * plan.max_minutes:
            return "time"
        since = [
            step for step, _ in progress.evaluations if progress.best and step > progress.best[0]
        ]
        return "patience" if plan.patience and len(since) >= plan.patience else ""

    def _elapsed(self) -> float:
        return self._before + monotonic() - self._begin

    def _save_when_due(self) -> None:
        plan, now = self._plan, monotonic()
        by_time = now - self._saved >= 60 * plan.save_minutes
        by_steps = plan.save_every and self.progress.steps % plan.save_every == 0
        if by_time or by_steps:
            self._save()

    def _save(self) -> None:
        if self._folder is None:
            return
        state = {
            "model": self._model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "best_weights": self._best_weights,
            "progress": asdict(self.progress),
            "random": random_states(),
            "plan": asdict(self._plan),
            "made_of": self._made_of,
            "steps_an_epoch": self._steps_an_epoch,
        }
        save_state(self._folder, state)
        self._saved = monotonic()
