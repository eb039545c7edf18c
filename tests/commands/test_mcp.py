"""`ranklet mcp` refuses what it cannot serve before a client waits for it."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails

if TYPE_CHECKING:
    from tests.conftest import Built


def test_a_bundle_that_cannot_be_searched_is_refused(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert "no bundle at" in fails(capsys, "mcp", tmp_path / "none.ranklet")
    assert "no collection to search" in fails(capsys, "mcp", built.exported)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
