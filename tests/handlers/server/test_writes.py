"""Writes that wait for another program: reads go on, and what is refused is never written."""

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.handlers.conftest import Reply, Server

from ranklet.handlers.server.service import WRITES
from ranklet.runtime import load
from ranklet.runtime.bundles.files import locate_additions
from ranklet.runtime.writing.locks import locked
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.handlers.conftest import Start

pytestmark = pytest.mark.slow

KEY = {"x-api-key": "writer"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a bundle of three documents."""
    rows = [{"id": name, "text": f"{name} dough"} for name in "abc"]
    return Path(build(rows, tmp_path / "b.ranklet")).resolve()


def write(server: Server, number: int) -> Reply:
    """Write by one of the doors."""
    if number % 4 == 0:
        return server.post("/documents", {"documents": [{"id": "new", "text": "rye"}]}, KEY)
    if number % 4 == 1:
        return server.post("/documents/delete", {"ids": ["a"]}, KEY)
    if number % 4 == 2:
        return server.ask("DELETE", "/documents/b", headers=KEY)
    return tool(server, "remember", text="a note")


def tool(server: Server, name: str, **arguments: Any) -> Reply:
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return server.post("/mcp", message, KEY)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_reads_go_on_beside_writes_that_wait_and_the_end_of_a_server_waits_for_none(
    workers: str, path: Path, start: "Start"
) -> None:
    given = {"RANKLET_WRITE_KEYS": "writer", "RANKLET_MAX_SECONDS": "3600"}
    with start(path, **given, RANKLET_WORKERS=workers) as server, ThreadPoolExecutor(40) as pool:
        with locked(path):
            room = int(workers) * (1 + WRITES)
            waiting = {pool.submit(write, server, number) for number in range(room + 8)}
            refused = set[Future[Reply]]()
            while len(waiting) > room:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                refused |= done
            for _ in range(10):
                assert len(server.post("/rank", {"query": "dough"}).json()["hits"]) == 3
                assert tool(server, "search", query="dough").status == 200
                assert server.ask("GET", "/complete?q=dou").status == 200
                assert server.ask("GET", "/readyz").status == 200
            assert server.stop() == 0
            for each in (*refused, *waiting):
                reply = each.result()
                assert reply.status == 503 or reply.json()["result"]["isError"]
                assert reply.status == 200 or reply.headers["retry-after"]
        assert len(load(path)) == 3
        assert not Path(locate_additions(path)).exists()


def test_a_write_is_given_up_in_time_and_never_written(path: Path, start: "Start") -> None:
    given = {"RANKLET_WRITE_KEYS": "writer", "RANKLET_MAX_SECONDS": "1"}
    with start(path, **given) as server:
        with locked(path), ThreadPoolExecutor(4) as pool:
            for each in pool.map(write, [server] * 4, range(4)):
                assert each.status in (200, 503)
                said = each.json()
                error = said["error"] if each.status == 503 else str(said["result"])
                assert "another program writes to this bundle; nothing was written" in error
                assert str(path) not in error
        assert server.post("/documents/delete", {"ids": ["c"]}, KEY).json()["documents"] == 2
        assert tool(server, "forget", id="a").json()["result"]["isError"] is False
        assert [hit["id"] for hit in server.post("/rank", {"query": "dough"}).json()["hits"]] == [
            "b"
        ]
