"""Run commands as a user does, in this process or in one of their own."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.once import once

from ranklet.commands import main
from ranklet.commands.train import FELL_SHORT

Capture = pytest.CaptureFixture[str]


def strict(text: str) -> Any:
    """Read JSON as others do: without NaN and Infinity, which Python alone would take."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


PROGRESS = re.compile(r".* after [0-9:]+(, about [0-9:]+ left)?\n")  # a slow machine writes some


def succeeds(capsys: Capture, *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    captured = capsys.readouterr()
    assert PROGRESS.sub("", captured.err) == ""
    return captured.out


def falls_short(capsys: Capture, *arguments: object) -> tuple[str, str]:
    """Check for a training's exit status 3 and its warning; return the output and the warning."""
    assert main([str(each) for each in arguments]) == FELL_SHORT
    captured = capsys.readouterr()
    warning = PROGRESS.sub("", captured.err)
    assert warning.startswith("warning: ")
    assert warning.count("\n") == 1
    return captured.out, warning


def fails(capsys: Capture, *arguments: object) -> str:
    """Check for exit status 1 and one line of error; return the line."""
    assert main([str(each) for each in arguments]) == 1
    error = PROGRESS.sub("", capsys.readouterr().err)
    assert error.count("\n") == 1
    assert error.startswith(f"ranklet {arguments[0]}: ")
    assert "Traceback" not in error
    return error


def process(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "ranklet", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        **options,
    )


PRINTED = "printed.txt"  # what the demo has printed, in its folder


def demo_folder(shared: Path) -> Path:
    """Return the folder that `ranklet demo --lexical` fills once per test run."""

    def run(folder: Path) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert main(["demo", "--lexical", "-o", str(folder)]) == 0
        (folder / PRINTED).write_text(printed.getvalue(), "utf-8")

    return once(shared / "demo", run)
