import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from torch import Tensor, nn

from ranklet.corpus.progress import EVALUATING, progress
from ranklet.runtime.ground.errors import InputError
from ranklet.training.errors import TrainingError
from ranklet.training.kept_state import STATE
from ranklet.training.learning import loop, record
from ranklet.training.learning.device import choose_device, seeded
from ranklet.training.learning.loop import fit, make_optimiser, rate, set_rate
from ranklet.training.learning.options import TrainingOptions
from ranklet.training.learning.record import Progress
from ranklet.training.learning.weights import read_state

OPTIONS = TrainingOptions(
    learning_rate=0.05, epochs=4, accumulation=2, clip=1.0, evaluate_every=3, save_every=1, seed=7,
    device="cpu", mixed_precision=False,
)  # fmt: skip
BATCHES = 7  # an epoch: with two a step, four steps


class InterruptionError(Exception):
    """Stands for whatever ends a training from outside."""


class Task:
    """A small regression with dropout, so that a wrong random state would show."""

    def __init__(self, stop_at: int = 0) -> None:
        with seeded(3):
            self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        self.calls, self._stop_at = 0, stop_at

    def batches(self, epoch: int) -> list[Tensor]:
        generator = torch.Generator().manual_seed(epoch)
        return list(torch.randn((BATCHES, 5, 4), generator=generator))

    def loss(self, batch: Tensor) -> Tensor:
        self.calls += 1
        if self.calls == self._stop_at:
            raise InterruptionError
        wanted = batch.sum(1, keepdim=True)
        short: Tensor = self.model(batch) - wanted
        return (short**2).mean()

    def evaluate(self) -> float:
        batch = torch.ones((3, 4))
        return -float(((self.model(batch).detach() - 4) ** 2).mean())

    def fit(
        self, options: TrainingOptions = OPTIONS, made_of: dict[str, str] | None = None,
        **changes: Any,
    ) -> Progress:  # fmt: skip
        return fit(
            self.model, self.batches, self.loss, replace(options, **changes),
            evaluate=self.evaluate, made_of=made_of,
        )  # fmt: skip


def weights(task: Task) -> list[float]:
    return torch.cat([each.flatten() for each in task.model.state_dict().values()]).tolist()


@pytest.mark.parametrize("stop_at", [2, 8, 9, 15, 28])
def test_interrupted_and_resumed_is_the_same_to_the_bit(tmp_path: Path, stop_at: int) -> None:
    whole = Task()
    expected = whole.fit()
    first = Task(stop_at)
    with pytest.raises(InterruptionError):
        first.fit(folder=tmp_path)
    second = Task()
    if stop_at == 2:  # not one step was done, so there is nothing to resume
        assert not (tmp_path / STATE).exists()
        found = second.fit(folder=tmp_path)
    else:
        found = second.fit(folder=tmp_path, resume=True)
        assert second.calls < whole.calls
    assert weights(second) == weights(whole)
    assert found.evaluations == expected.evaluations
    assert (found.steps, found.best) == (expected.steps, expected.best)
    assert found.curve == expected.curve
    assert len(found.curve.losses) == 16


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_step_at_once_and_saves_the_state_before_it(tmp_path: Path) -> None:
    whole = Task()
    whole.fit()
    never = replace(OPTIONS, save_every=0)  # nothing but Ctrl-C saves
    first = Task()
    plain = first.loss

    def loss(batch: Tensor) -> Tensor:
        short = plain(batch)  # its dropout takes random numbers
        if first.calls == 5:  # the first of the third step's two batches
            signal.raise_signal(signal.SIGINT)
        return short

    first.loss = loss  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        first.fit(never, folder=tmp_path)
    assert first.calls == 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    second = Task()
    second.fit(never, folder=tmp_path, resume=True)
    assert second.calls == whole.calls - 4
    assert weights(second) == weights(whole)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("evaluation", [1, 2, 7])  # the first one, and the one at the end
def test_an_evaluation_heeds_ctrl_c_and_is_made_again(evaluation: int, tmp_path: Path) -> None:
    never, whole, first, second = replace(OPTIONS, save_every=0), Task(), Task(), Task()
    expected = whole.fit(never)
    begun, plain = list[int](), first.evaluate

    def evaluate() -> float:
        for block in progress(range(2), EVALUATING):
            begun.append(block)
            if len(begun) == 2 * evaluation - 1:
                signal.raise_signal(signal.SIGINT)
        return plain()

    first.evaluate = evaluate  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        first.fit(never, folder=tmp_path)
    assert len(begun) == 2 * evaluation - 1  # so its second block never began
    found = second.fit(never, folder=tmp_path, resume=True)
    assert weights(second) == weights(whole)
    assert (found.evaluations, found.stopped) == (expected.evaluations, expected.stopped)
    assert first.calls + second.calls == whole.calls


def test_too_few_steps_are_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    task = Task(stop_at=1)
    with pytest.raises(InterruptionError):
        task.fit(replace(OPTIONS, steps=6, epochs=1))
    assert "6 steps: too few (20)" in caplog.text


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task()

    def press(*_: object) -> NoReturn:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError

    monkeypatch.setattr(task, "loss", press)
    monkeypatch.setattr(loop, "save_state", press)
    with pytest.raises(KeyboardInterrupt):
        task.fit(folder=tmp_path)
    assert not (tmp_path / STATE).exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_mixed_precision_too_resumes_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # bfloat16 on every processor, which emulates it if it must
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    mixed = replace(OPTIONS, mixed_precision=True)
    whole = Task()
    whole.fit(mixed)
    with pytest.raises(InterruptionError):
        Task(9).fit(mixed, folder=tmp_path)
    second = Task()
    second.fit(mixed, folder=tmp_path, resume=True)
    assert weights(second) == weights(whole)


def test_the_same_seed_gives_the_same_weights_and_leaves_the_callers_draws_alone() -> None:
    torch.manual_seed(11)
    expected = torch.rand(1).item()
    torch.manual_seed(11)
    one, two, other = Task(), Task(), Task()
    one.fit()
    two.fit()
    other.fit(replace(OPTIONS, seed=8))
    assert weights(one) == weights(two) != weights(other)
    assert torch.rand(1).item() == expected


def test_it_learns_and_ends_with_the_weights_that_were_best() -> None:
    task = Task()
    task.model.eval()
    before = task.evaluate()
    progress = task.fit(replace(OPTIONS, epochs=30))
    assert progress.best is not None
    values = dict(progress.evaluations)
    assert progress.best == (progress.best[0], max(values.values()))
    task.model.eval()
    assert task.evaluate() == progress.best[1] > before
    assert not task.model.training
    assert progress.report()["stopped_by"] == "epochs"


def test_a_training_that_only_does_harm_keeps_its_first_weights() -> None:
    task = Task()
    before = weights(task)
    progress = fit(task.model, task.batches, task.loss, OPTIONS, evaluate=lambda: -task.calls)
    assert progress.best == (0, 0.0)
    assert weights(task) == before


def test_patience_ends_a_training() -> None:
    task = Task()
    options = replace(OPTIONS, patience=2, evaluate_every=1)
    progress = fit(task.model, task.batches, task.loss, options, evaluate=lambda: 0.0)
    assert (progress.stopped, progress.steps) == ("patience", 2)


def test_a_time_budget_ends_a_training_and_brings_the_rate_down() -> None:
    task, rates, passed = Task(), [], 0.0

    def loss(batch: Tensor) -> Tensor:
        nonlocal passed
        passed += 0.02
        return task.loss(batch)

    options = replace(
        OPTIONS, epochs=10_000, max_minutes=0.3 / 60, accumulation=1, evaluate_every=0
    )
    original = torch.optim.AdamW.step

    def step(self: torch.optim.AdamW, *arguments: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return original(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", step)
        patch.setattr(record, "monotonic", lambda: passed)
        patch.setattr(loop, "monotonic", lambda: passed)
        progress = fit(task.model, task.batches, loss, options, evaluate=task.evaluate)
    assert progress.stopped == "time"
    assert progress.seconds == pytest.approx(0.3, abs=0.02)
    assert max(rates) > 0.5 * options.learning_rate > 4 * rates[-1]
    assert progress.evaluations[-1][0] == progress.steps


@pytest.mark.parametrize("steps", [3, 4, 9])  # an epoch has four
def test_a_length_in_steps_takes_as_many_epochs_as_it_needs(steps: int) -> None:
    task = Task()
    progress = task.fit(epochs=1, steps=steps)
    assert (progress.steps, progress.stopped) == (steps, "steps")
    assert progress.report()["epochs"] == -(-steps // 4)
    if steps == 4:
        whole = Task()
        whole.fit(epochs=1)
        assert weights(task) == weights(whole)


def test_steps_and_epochs_exclude_each_other() -> None:
    with pytest.raises(InputError, match="--steps and --epochs"):
        TrainingOptions(steps=5, epochs=2)


def test_accumulated_batches_are_averaged() -> None:
    def final(accumulation: int, batch: int) -> list[float]:
        task = Task()
        task.model[1] = nn.Identity()  # no dropout
        data = task.batches(0)[:4]
        cut = list(torch.cat(data).reshape(-1, 5 * batch, 4))
        options = TrainingOptions(
            learning_rate=0.01, accumulation=accumulation, device="cpu", warmup=0,
            mixed_precision=False,
        )  # fmt: skip
        fit(task.model, lambda _: cut, task.loss, options)
        return weights(task)

    assert final(2, 1) == pytest.approx(final(1, 2), abs=1e-6)


def test_a_loss_that_is_not_finite_is_reported_with_its_step() -> None:
    task = Task()

    def loss(batch: Tensor) -> Tensor:
        return task.loss(batch) * (float("nan") if task.calls == 5 else 1)

    with pytest.raises(TrainingError, match=r"loss is nan at step 3 \(epoch 1"):
        fit(task.model, task.batches, loss, OPTIONS)


def test_a_state_in_the_way_or_of_another_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InterruptionError):
        Task(9).fit(folder=tmp_path)
    with pytest.raises(TrainingError, match="interrupted training; resume it"):
        Task().fit(folder=tmp_path)
    with pytest.raises(TrainingError, match=r"had learning_rate 0.05 and this one has 0.1"):
        Task().fit(replace(OPTIONS, learning_rate=0.1), folder=tmp_path, resume=True)
    with pytest.raises(TrainingError, match="learned from other judged queries or documents"):
        Task().fit(replace(OPTIONS, data="other"), folder=tmp_path, resume=True)
    with pytest.raises(TrainingError, match='had teacher none and this one has "cross"'):
        Task().fit(folder=tmp_path, resume=True, made_of={"teacher": "cross"})
    state = read_state(tmp_path, torch.device("cpu"))
    taught = {**state, "made_of": {**state["made_of"], "teacher": '"cross"'}}
    torch.save(taught, tmp_path / STATE)
    with pytest.raises(TrainingError, match='had teacher "cross" and this one has none'):
        Task().fit(folder=tmp_path, resume=True)
    torch.save(state, tmp_path / STATE)
    task, options = Task(), replace(OPTIONS, folder=tmp_path, resume=True)
    with pytest.raises(TrainingError, match="4 steps per epoch and this one has 1"):
        fit(task.model, lambda _: task.batches(0)[:2], task.loss, options)
    other = Task()
    other.model = nn.Sequential(nn.Linear(4, 1))
    with pytest.raises(TrainingError, match="another model"):
        other.fit(folder=tmp_path, resume=True)
    with pytest.raises(TrainingError, match="nothing to resume"):
        Task().fit(folder=tmp_path / "elsewhere", resume=True)


def test_a_state_can_run_no_code(tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return eval, ("1/0",)

    torch.save({"plan": Hostile()}, tmp_path / STATE)
    with pytest.raises(TrainingError, match="cannot be read"):
        read_state(tmp_path, torch.device("cpu"))
    torch.save({"plan": 1}, tmp_path / STATE)
    with pytest.raises(TrainingError, match="no state of a training"):
        read_state(tmp_path, torch.device("cpu"))
    (tmp_path / STATE).write_bytes(b"half a file")
    with pytest.raises(TrainingError, match="cannot be read"):
        read_state(tmp_path, torch.device("cpu"))


def test_the_rate_grows_and_then_goes_down() -> None:
    rates = [rate(0.2, done) for done in (0.1, 0.2, 0.6, 1)]
    assert rates == pytest.approx([0.5, 1, 0.5, 0])


def test_an_unknown_device_and_no_batches_are_refused() -> None:
    with pytest.raises(InputError, match="device 'gpu9'"):
        choose_device("gpu9")
    with pytest.raises(TrainingError, match="no batch"):
        fit(nn.Linear(1, 1), lambda _: [], lambda _: torch.ones(()), OPTIONS)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Linear(2, 2), nn.Linear(2, 1)


def test_the_head_has_a_rate_of_its_own() -> None:
    model, options = Model(), TrainingOptions(learning_rate=2e-5, head_rate=10)
    optimiser = make_optimiser(model, options, torch.device("cpu"))
    set_rate(optimiser, options, 1e-5)
    rates = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
    assert [rates[id(each)] for each in model.encoder.parameters()] == [1e-5, 1e-5]
    assert [rates[id(each)] for each in model.head.parameters()] == [1e-4, 1e-4]
