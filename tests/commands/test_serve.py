"""`ranklet serve`, as somebody at a terminal starts it."""

import json
import signal
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from ranklet.commands import main

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.mark.slow
def test_the_server_runs_until_it_is_interrupted(built: "Built") -> None:
    command = [sys.executable, "-m", "ranklet", "serve", str(built.zipped), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        logged = json.loads(process.stdout.readline())
        port = int(logged["message"].rpartition(":")[2])
        assert "127.0.0.1" in logged["message"]
        process.stdout.readline()  # the bundle is served
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no bundle at"),
        (["BUNDLE", "--workers", "0"], "workers is 0; it must be a whole number from 1"),
        (["BUNDLE", "--port", "70000"], "from 0 to 65535"),
    ],
)
def test_wrong_options_are_refused(
    built: "Built", capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    given = [str(built.fused) if each == "BUNDLE" else each for each in arguments]
    with suppress(SystemExit):  # of wrong usage
        assert main(["serve", *given]) == 1
    assert message in capsys.readouterr().err
