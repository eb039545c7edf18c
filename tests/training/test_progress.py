import io
import sys
from typing import Any

import pytest

from ranklet.training import progress as module
from ranklet.training.progress import Steps, expect, one_bar, progress, say


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(steps: Steps, clock: Clock, label: str, items: int, seconds: float) -> None:
    """Do a step whose items take so many seconds each."""
    for _ in steps.follow(range(items), label, None):
        clock.now += seconds


def test_without_a_terminal_a_line_is_written_every_ten_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    steps = Steps([("reading", 20), ("encoding", 80)], clock)
    run(steps, clock, "reading", 4, 4)
    run(steps, clock, "encoding", 8, 8)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 15% after 0:12, about 1:08 left",
        "encoding: 30% after 0:24, about 0:56 left",
        "encoding: 50% after 0:40, about 0:40 left",
        "encoding: 70% after 0:56, about 0:24 left",
        "encoding: 90% after 1:12, about 0:08 left",
    ]


def test_short_work_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    run(Steps([("reading", 1)], clock), clock, "reading", 9, 1)
    assert capsys.readouterr().err == ""


def test_no_time_is_estimated_while_almost_nothing_is_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    steps = Steps([("reading", 4), ("encoding", 96)], clock)
    run(steps, clock, "reading", 2, 50)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 2% after 0:50",
        "reading: 4% after 1:40",
    ]


def test_the_items_of_a_step_without_a_length_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    steps = Steps([("reading", 1), ("encoding", 1)], clock)
    for _ in steps.follow(iter("abc"), "reading", None):
        clock.now += 11
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["reading (1): 0% after 0:11", "reading (2): 0% after 0:22"]
    assert lines[2] == "reading: 50% after 0:33, about 0:33 left"


def test_a_step_inside_another_shows_its_own_label(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    steps = Steps([("indexing", 20), ("encoding", 80)], clock)
    for name in steps.follow(["bm25", "dense"], "indexing", 2):
        if name == "dense":
            run(steps, clock, "encoding", 4, 20)
    assert capsys.readouterr().err.splitlines() == [
        "encoding: 30% after 0:20, about 0:47 left",
        "encoding: 50% after 0:40, about 0:40 left",
        "encoding: 70% after 1:00, about 0:26 left",
        "encoding: 90% after 1:20, about 0:09 left",
    ]


def test_a_step_that_was_not_planned_is_no_work(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    steps = Steps([("encoding", 1)], clock)
    run(steps, clock, "surprise", 2, 10)
    assert capsys.readouterr().err.splitlines() == [
        "surprise: 0% after 0:10",
        "surprise: 0% after 0:20",
    ]


def test_work_that_turns_out_larger_does_not_move_the_bar_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    steps = Steps([("reading", 50), ("encoding", 50)], clock)
    run(steps, clock, "reading", 1, 10)
    steps.expect("encoding", 450)
    run(steps, clock, "encoding", 9, 10)
    shares = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert shares == [*["50%"] * 5, "60%", "70%", "80%", "90%", "100%"]


def test_an_error_in_a_step_ends_it() -> None:
    steps = Steps([("reading", 1), ("encoding", 1)], Clock())
    items: Any = steps.follow([1, 2], "reading", None)
    assert next(items) == 1
    with pytest.raises(KeyError):
        items.throw(KeyError())
    assert list(steps.follow([1], "encoding", None)) == [1]


def test_a_terminal_shows_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, clock = Terminal(), Clock()
    monkeypatch.setattr(sys, "stderr", terminal)
    steps = Steps([("reading", 50), ("encoding", 50)], clock)
    run(steps, clock, "reading", 2, 30)
    run(steps, clock, "encoding", 2, 30)
    steps.close()
    shown = terminal.getvalue()
    assert "reading: 25% after 0:30, about 1:30 left |" in shown
    assert "encoding: 75% after 1:30, about 0:30 left |" in shown
    assert "\n" not in shown


def test_a_bar_is_drawn_ten_times_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, clock = Terminal(), Clock()
    monkeypatch.setattr(sys, "stderr", terminal)
    steps = Steps([("reading", 50), ("encoding", 50)], clock)
    for _ in steps.follow(iter(range(1000)), "reading", None):
        clock.now += 0.001
    assert terminal.getvalue().count("reading") in range(9, 13)


def test_progress_uses_the_bar_around_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "Steps", lambda weights: Steps(weights, clock))
    with one_bar(("reading", 1.0), ("encoding", 1.0)):
        expect("encoding", 3.0)
        for _ in progress([1, 2], "reading"):
            clock.now += 10
        say("said")
    assert capsys.readouterr() == (
        "said\n",
        "reading: 12% after 0:10, about 1:10 left\nreading: 25% after 0:20, about 1:00 left\n",
    )
    expect("encoding", 3.0)  # no effect outside
    assert list(progress([1, 2], "reading")) == [1, 2]
