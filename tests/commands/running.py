"""Run commands as a user does, in this process or in one of their own."""

import json
import subprocess
import sys
from typing import Any

import pytest

from ranklet.commands import main

Capture = pytest.CaptureFixture[str]


def strict(text: str) -> Any:
    """Read JSON as others do: without NaN and Infinity, which Python alone would take."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def succeeds(capsys: Capture, *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def fails(capsys: Capture, *arguments: object) -> str:
    """Check for exit status 1 and one line of error; return the line."""
    assert main([str(each) for each in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"ranklet {arguments[0]}: ")
    assert "Traceback" not in captured.err
    return captured.err


def process(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "ranklet", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        **options,
    )
