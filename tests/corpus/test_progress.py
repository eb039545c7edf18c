import io
import sys
from functools import partial

import pytest

from ranklet.corpus import progress as module
from ranklet.corpus.progress import Steps, expect, one_bar, progress, say


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


def test_without_a_terminal_a_line_is_written_every_five_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    steps = Steps([("reading", 20), ("encoding", 80)], clock)
    run(steps, clock, "reading", 8, 2)
    run(steps, clock, "encoding", 16, 4)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 8% after 0:06, about 1:14 left",
        "reading: 15% after 0:12, about 1:08 left",
        *(
            f"encoding: {share}% after {spent}, about {left} left"
            for share, spent, left in [
                (25, "0:20", "1:00"),
                (35, "0:28", "0:52"),
                (45, "0:36", "0:44"),
                (55, "0:44", "0:36"),
                (65, "0:52", "0:28"),
                (75, "1:00", "0:20"),
                (85, "1:08", "0:12"),
                (95, "1:16", "0:04"),
            ]
        ),
    ]


def test_where_nothing_moves_a_line_is_written_each_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    run(Steps([("reading", 1), ("encoding", 999)], clock), clock, "reading", 40, 5)
    lines = [f"reading: 0% after {spent}" for spent in ("0:05", "1:05", "2:05", "3:05")]
    assert capsys.readouterr().err.splitlines() == lines


def test_a_slow_import_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_EVERY", 0)
    imported = list[str]()
    monkeypatch.setattr(module, "import_module", imported.append)
    for name in ("sys", "no_such_module"):
        module.import_slowly(name, f"importing {name}")
    assert imported == ["no_such_module"]
    assert capsys.readouterr().err.startswith("importing no_such_module: 0% after 0:00")


def test_short_work_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    run(Steps([("reading", 1)], clock), clock, "reading", 4, 1)
    assert capsys.readouterr().err == ""


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


def test_progress_uses_the_bar_around_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "Steps", partial(Steps, clock=clock))
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


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_no_label_controls_a_terminal(
    kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    errors, output = kind(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(module, "STILL", 0)
    monkeypatch.setattr(module, "LINE_EVERY", 0)
    for _ in progress(range(2), "file\x1b[31m"):
        say("said\x1b[31m")
        module.warn("warned\x1b[31m")
    shown = errors.getvalue() + output.getvalue()
    assert "\x1b[31m" not in shown
    for text in ("file", "said", "warned"):
        assert f"{text}\\u001b[31m" in shown


@pytest.mark.parametrize("closed", [True, False])
def test_progress_needs_no_output(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO() if closed else None
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(module, "LINE_EVERY", 0)
    with one_bar(("reading", 1)):
        for _ in progress(range(2), "reading"):
            say("said")
            module.warn("warned")
    assert list(progress(range(2), "reading")) == [0, 1]
