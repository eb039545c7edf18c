"""The program: what it says when it cannot start. What it answers is in server/test_service.py."""

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.handlers.conftest import MODULE, PATIENCE

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.handlers.conftest import Server


def fails(**variables: str) -> str:
    """Run the program with other variables, check that it fails, and return what it says."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RANKLET_")}
    done = subprocess.run(
        [sys.executable, "-m", MODULE],
        env={**own, "HOST": "127.0.0.1", **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("ranklet: ")
    return done.stderr


@pytest.mark.slow
def test_an_address_that_is_taken_is_said(server: "Server", built: "Built") -> None:
    said = fails(RANKLET_BUNDLE=str(built.fused), PORT=str(server.port))
    assert f"cannot listen on 127.0.0.1 port {server.port}" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "wanted"),
    [({}, "set RANKLET_BUNDLE"), ({"RANKLET_BUNDLE": "b", "PORT": "http"}, "PORT is 'http'")],
)
def test_a_variable_that_cannot_be_used_is_said(variables: dict[str, str], wanted: str) -> None:
    assert wanted in fails(**variables)
