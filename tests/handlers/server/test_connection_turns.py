"""New connections go to the process that has the fewest."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ranklet.handlers.server import connection_turns
from ranklet.handlers.server.connection_turns import InTurns
from ranklet.handlers.server.shared_counts import SharedCounts


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[InTurns, InTurns]]:
    """Two processes' sockets, which are one."""
    SharedCounts.make(4, tmp_path, 2)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(InTurns(each, SharedCounts(4, tmp_path, row, 2)))
            for row, each in enumerate((listening.dup(), listening))
        )
        yield first, second


@pytest.fixture
def callers(two: tuple[InTurns, InTurns]) -> Iterator[list[socket.socket]]:
    """Six connections that wait."""
    with ExitStack() as stack:
        address = two[0].getsockname()
        yield [stack.enter_context(socket.create_connection(address)) for _ in range(6)]


@pytest.mark.usefixtures("callers")
def test_no_process_takes_what_another_should(
    two: tuple[InTurns, InTurns], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(connection_turns, "monotonic", lambda: now)
    first, second = two
    kept = [first.accept()[0]]
    with pytest.raises(BlockingIOError):
        first.accept()
    kept += [second.accept()[0], second.accept()[0], first.accept()[0]]  # 1, 2, then 2 and 2
    kept.append(first.accept()[0])
    with pytest.raises(BlockingIOError):
        first.accept()
    now += 1.5 * connection_turns.PATIENCE  # the second one has not come
    kept.append(first.accept()[0])
    first.closed()
    first.closed()
    with pytest.raises(BlockingIOError):  # none waits
        first.accept()
    for each in kept:
        each.close()
