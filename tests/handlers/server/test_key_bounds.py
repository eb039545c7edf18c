from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.server import key_bounds
from ranklet.handlers.server.key_bounds import KeyBounds
from ranklet.handlers.server.shared_counts import SharedCounts

if TYPE_CHECKING:
    from tests.handlers.conftest import Start


def bounds(folder: Path, at_once: int, per_minute: int) -> list[KeyBounds]:
    """Return the bounds of two keys in two processes."""
    SharedCounts.make(10, folder, 2)
    counts = [SharedCounts(10, folder, row, 2) for row in range(2)]
    return [KeyBounds(each, 2, at_once, per_minute) for each in counts]


def refused(of: KeyBounds, key: int) -> str:
    with pytest.raises(RequestError) as caught, of.counted(key):
        pass
    assert caught.value.status == 429
    return str(caught.value)


def test_a_key_has_so_many_requests_at_once_in_all_processes(tmp_path: Path) -> None:
    first, second = bounds(tmp_path, 2, 0)
    for _ in range(3):
        with first.counted(0), second.counted(0):
            assert "2 requests that are not answered" in refused(first, 0)
            assert "2 requests that are not answered" in refused(second, 0)
            with first.counted(1), second.counted(None):  # others are free
                pass


def test_a_key_has_so_many_requests_per_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 600.0
    monkeypatch.setattr(key_bounds, "time", lambda: now)
    first, second = bounds(tmp_path, 0, 3)
    for _ in range(2):
        for each in (first, second, first):
            with each.counted(0):
                pass
        assert "3 requests in this minute" in refused(second, 0)
        with second.counted(1):
            pass
        now += 60


def test_any_number_is_allowed_unless_it_is_bounded(tmp_path: Path) -> None:
    first, _ = bounds(tmp_path, 0, 0)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(first.counted(0))


def test_a_server_refuses_what_a_key_sends_too_much(start: "Start") -> None:
    variables = {"RANKLET_API_KEY": "greedy,modest", "RANKLET_KEY_PER_MINUTE": "500"}
    with start(RANKLET_KEY_REQUESTS="1", **variables) as server:
        head = b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with server.open() as slow:
            slow.sendall(head + b"x-api-key: greedy\r\nContent-Length: 30\r\n\r\n{")
            asked: Any = {"query": "dough"}
            server.wait(lambda: server.post("/rank", asked, {"x-api-key": "greedy"}).status == 429)
            reply = server.post("/rank", asked, {"x-api-key": "greedy"})
            assert reply.json()["error_type"] == "too_many"
            assert reply.headers["retry-after"]
            assert server.post("/rank", asked, {"x-api-key": "modest"}).status == 200
        server.wait(lambda: server.post("/rank", asked, {"x-api-key": "greedy"}).status == 200)
