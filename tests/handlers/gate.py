"""Run a program so that a test does not depend on the speed of the machine.

    python gate.py GATE MODULE [ARGUMENTS]

runs a module. While the file GATE exists, its rankings wait, so that tests need no slow queries.
The file GATE.reached shows that one waits.
"""

import runpy
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any

from ranklet.runtime.bundle import Bundle


class Gate:
    """A gate before the rankings of a program that runs by `command`; open at first."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "gate"

    def command(self, module: str) -> list[str]:
        """Return the command that runs a module behind the gate."""
        return [sys.executable, "-P", "-W", "error", __file__, str(self._path), module]

    def shut(self) -> None:
        """Let every ranking wait from now on."""
        self._path.touch()

    def open(self) -> None:
        """Let the rankings go on."""
        self._path.unlink(missing_ok=True)

    @property
    def reached(self) -> bool:
        """True once a ranking waits."""
        return self._path.with_suffix(".reached").exists()


def hold(gate: Path) -> None:
    """Let every ranking of this process wait while the file exists."""
    rank = Bundle.rank

    def rank_behind_gate(*arguments: Any, **options: Any) -> Any:
        while gate.exists():
            gate.with_suffix(".reached").touch()
            sleep(0.01)
        return rank(*arguments, **options)

    Bundle.rank = rank_behind_gate  # type: ignore[method-assign]


def retry_connections() -> None:
    """Let awslambdaric's client connect again.

    It gives up after one second, which a busy machine may take, and ends the process. Lambda would
    start the process again.
    """
    runtime_client = import_module("runtime_client")

    def retried(call: Callable[..., Any]) -> Callable[..., Any]:
        def attempts(*arguments: Any) -> Any:
            for _ in range(100):
                with suppress(RuntimeError):
                    return call(*arguments)
            return call(*arguments)

        return attempts

    for name in ("next", "post_invocation_result", "post_error"):
        setattr(runtime_client, name, retried(getattr(runtime_client, name)))


def stay_in_one_process() -> None:
    """Let the server's one worker be this process, because another has no gate."""
    module = import_module("ranklet.handlers.server.uvicorn_server")
    module._supervise = module.run  # type: ignore[attr-defined]


if __name__ == "__main__":
    hold(Path(sys.argv[1]))
    sys.argv[:] = sys.argv[2:]
    if sys.argv[0] == "ranklet.handlers.http":
        stay_in_one_process()
    if sys.argv[0] == "awslambdaric":
        retry_connections()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
