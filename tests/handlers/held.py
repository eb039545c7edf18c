"""Hold every ranking of a program while a file exists, so that tests need no slow query.

    python held.py GATE MODULE [ARGUMENTS]

runs a module; while the file GATE exists its rankings wait, and GATE.reached says that one does.
"""

import runpy
import sys
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

    def held(*arguments: Any, **options: Any) -> Any:
        while gate.exists():
            gate.with_suffix(".reached").touch()
            sleep(0.01)
        return rank(*arguments, **options)

    Bundle.rank = held  # type: ignore[method-assign]


if __name__ == "__main__":
    hold(Path(sys.argv[1]))
    sys.argv[:] = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
