"""What a loan of a machine brings, by a clock that only the trainings move."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

loans = pytest.importorskip("benchmarks.papers.loans")
plans = pytest.importorskip("benchmarks.papers.plans")


class Machine(Executor):
    """Runs at once, and a training takes the minutes that it says."""

    def __init__(self, took: dict[str, float]) -> None:
        self.now, self.took, self.begun = 0.0, took, list[str]()

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        plan, left = given
        self.begun.append(f"{plan.name} {plan.seed}")
        self.now += 60 * self.took.get(plan.name, plan.minutes)
        future = Future[Any]()
        try:
            future.set_result(work(plan, left, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def training(name: str, minutes: float = 3, seed: int = 0, **options: Any) -> Any:
    against = options.pop("against", ())
    return plans.Training(
        name, "dense", options, "some", ("some",), 1, against, seed, minutes=minutes
    )


def worked(
    given: list[Any], minutes: float, tmp_path: Path, **took: float
) -> tuple[Any, list[str]]:
    """Work through plans, whose files are empty ones, in some minutes."""
    machine = Machine(took)

    def measure(plan: Any, left: float) -> Any:
        if plan.options.get("fails"):
            raise ValueError(plan.name)
        for path in made(tmp_path).makes(plan):
            path.touch()
        return None if 60 * machine.took.get(plan.name, 0) > left else {"left": left}

    done = loans.work_through(
        given, measure, machine, files=made(tmp_path), ends=60 * minutes, clock=lambda: machine.now
    )
    return done, machine.begun


def made(folder: Path) -> Any:
    def paths(option: str) -> Callable[[Any], list[Path]]:
        return lambda plan: [folder / plan.options[option]] if option in plan.options else []

    return loans.Files(paths("needs"), paths("saves"))


def test_what_fits_is_measured_in_the_order_of_the_plans(tmp_path: Path) -> None:
    given = [training("first", 5), training("long", 20), training("second", 6), training("third")]
    done, begun = worked(given, 12, tmp_path)
    assert begun == ["first 0", "second 0"]
    assert [plan.name for plan, _ in done.found] == ["first", "second"]
    assert [each["left"] / 60 for _, each in done.found] == [12, 7]
    assert [plan.name for plan in done.left] == ["long", "third"]


def test_one_that_is_interrupted_or_fails_ends_no_other(tmp_path: Path) -> None:
    given = [training("slow"), training("wrong", fails=True), training("last")]
    done, begun = worked(given, 30, tmp_path, slow=40)
    assert begun == ["slow 0"]  # its time was that of all
    done, begun = worked(given[1:], 30, tmp_path)
    assert begun == ["wrong 0", "last 0"]
    assert [plan.name for plan, _ in done.found] == ["last"]
    assert [(plan.name, str(error)) for plan, error in done.failed] == [("wrong", "wrong")]
    assert not done.left


def test_a_training_waits_for_what_it_begins_with(tmp_path: Path) -> None:
    second, first = training("second phase", needs="kept"), training("first phase", saves="kept")
    done, begun = worked([second], 30, tmp_path)
    assert (done.left, begun) == ([second], [])
    done, begun = worked([second, first], 30, tmp_path)
    assert begun == ["first phase 0", "second phase 0"]
    assert [plan.name for plan, _ in done.found] == ["second phase", "first phase"]


def test_names_bring_what_they_are_compared_with_and_begin_with(tmp_path: Path) -> None:
    every = [
        training(name, seed=seed, **options)
        for seed in (0, 1)
        for name, options in (
            ("plain", {}), ("start", {"saves": f"start.{seed}"}),
            ("phase", {"needs": f"start.{seed}", "against": ("plain", "BM25")}), ("other", {}),
        )
    ]  # fmt: skip
    chosen = plans.named(every, ["Phase"])
    found = loans.with_needed(chosen, every, made(tmp_path))
    assert [(plan.name, plan.seed) for plan in found] == [
        (name, seed) for seed in (0, 1) for name in ("plain", "start", "phase")
    ]
    with pytest.raises(ValueError, match="no training is named 'pace'; there are: plain, start"):
        plans.named(every, ["pace"])


@pytest.mark.usefixtures("ctrl_c")
def test_work_is_interrupted_when_its_time_is_up() -> None:
    def work() -> dict[str, int]:
        for _ in range(1000):
            time.sleep(0.01)
        return {}

    assert loans.within(0.02, work) is None
    assert loans.within(60, lambda: {"steps": 5}) == {"steps": 5}


def test_every_plan_has_what_it_is_compared_with_and_begins_with() -> None:
    for every in (plans.planned(), plans.on_processors()):
        names = {plan.name for plan in every} | {plans.BM25, plans.RERANKING, plans.ORACLE}
        assert {other for plan in every for other in plan.against} <= names
        assert len({(plan.name, plan.seed) for plan in every}) == len(every)
    groups = list(dict.fromkeys(plan.group for plan in plans.planned()))
    assert groups[:6] == ["starts", "heads", "whole documents", "phases", "tkl", "ndrm"]
