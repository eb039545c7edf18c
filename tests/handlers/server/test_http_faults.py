"""What callers, disks and schedulers do to a server: it bounds them, tells them, and stays up."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.handlers.conftest import Server, Start

HEAD = b"POST /rank HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
JSON = {"Content-Type": "application/json"}
SMALL = {"RANKLET_MAX_BODY_BYTES": "1000"}


def until_closed(connection: socket.socket) -> bytes:
    """Return what comes until the server hangs up."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_a_body_that_is_too_large_is_refused_however_it_comes(start: "Start") -> None:
    with start(**SMALL) as server:
        large = json.dumps({"query": "a" * 2000}).encode()
        reply = server.post("/rank", large)
        assert reply.status == 413
        assert reply.json()["error"] == "the body has more than 1,000 bytes"
        # In pieces, without a length: only counting tells.
        connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
        pieces = iter([b"[", *[b" " * 300] * 10, b"]"])
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/rank", pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        # In pieces and small enough.
        pieces = iter([b'{"query":', b' "dough"}'])
        connection.request("POST", "/rank", pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()
        # Endless: the server stops listening.
        with server.open() as endless:
            endless.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(1000):
                    endless.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")
            except OSError:
                pass
            else:
                raise AssertionError("an endless body was taken in")
        # Announced: refused before a byte of it is sent.
        with server.open() as announced:
            announced.sendall(HEAD + b"Content-Length: 99999999999\r\n\r\n")
            assert announced.recv(100).startswith(b"HTTP/1.1 413")
        assert server.post("/rank", {"query": "dough"}).status == 200


def ask_and_never_read(connection: socket.socket, seconds: float) -> None:
    """Send request upon request, until the server hangs up or time is up."""
    until = monotonic() + seconds
    while monotonic() < until:
        with suppress(TimeoutError):
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 100)


LONG = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        [b"nonsense\r\n\r\n"],
        [b"POST /rank HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"],
        [HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chu\r\n\r\nabc"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\nnot a length\r\n"],
        [LONG],
        [LONG[at : at + 5000] for at in range(0, len(LONG), 5000)],
    ],
)
def test_what_is_not_http_is_refused(server: "Server", sent: list[bytes]) -> None:
    with server.open() as connection:
        with suppress(ConnectionError):  # refused before the last part was sent
            for part in sent:
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
        answer = until_closed(connection)
    assert answer == b"" or answer.split(b" ", 2)[1] in (b"400", b"431", b"501"), answer[:100]
    assert server.ask("GET", "/healthz").status == 200


@pytest.mark.slow
def test_slow_callers_are_bounded_and_others_are_answered(start: "Start") -> None:
    with start(RANKLET_HEADER_SECONDS="1", RANKLET_MAX_SECONDS="1") as server:
        begin = monotonic()
        silent = [server.open() for _ in range(20)]
        dripping = [server.open() for _ in range(20)]
        bodies = [server.open() for _ in range(20)]
        second = server.open()  # slow with its second request
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answered = b""
        while b"alive" not in answered:
            answered += second.recv(4096)
        second.sendall(b"GET /hea")
        for connection in bodies:
            connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        for byte in HEAD[:8]:
            for connection in dripping:
                connection.sendall(bytes([byte]))
            sleep(0.02)
            assert server.post("/rank", {"query": "dough"}).status == 200
        assert all(until_closed(connection) == b"" for connection in (*silent, *dripping, second))
        for connection in bodies:
            assert until_closed(connection).startswith(b"HTTP/1.1 408")
        assert 0.9 < monotonic() - begin < 8
        for connection in (*silent, *dripping, *bodies, second):
            connection.close()


@pytest.mark.slow
def test_a_caller_who_does_not_read_is_bounded(start: "Start") -> None:
    with start(RANKLET_MAX_SECONDS="1") as server, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.5)
        connection.connect(("127.0.0.1", server.port))
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            ask_and_never_read(connection, seconds=15)
        assert server.post("/rank", {"query": "dough"}).status == 200


def test_callers_who_hang_up_leave_nothing_behind(start: "Start") -> None:
    with start() as server:
        body = json.dumps({"query": "dough", "documents": ["dough " * 50] * 200}).encode()
        for cut in (0, 10, len(body) // 2, len(body)):
            for _ in range(3):
                with server.open() as connection:
                    connection.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode())
                    connection.sendall(body[:cut])
        held = "ranklet_held 0"
        server.wait(lambda: held in server.ask("GET", "/metrics").body.decode())
        assert server.post("/rank", {"query": "dough"}).status == 200
        assert not [line for line in server.log() if line["severity"] == "ERROR"]
        counted = 'route="/rank",status="499"'
        server.wait(lambda: counted in server.ask("GET", "/metrics").body.decode())


def test_past_the_queue_callers_are_told_to_come_back(start: "Start") -> None:
    documents = ["knead the dough and let it rise " * 20] * 400
    body = {"query": "how long does a dough need to rise", "documents": documents}
    with (
        start(RANKLET_POOL="1", RANKLET_QUEUE="1") as server,
        ThreadPoolExecutor(12) as callers,
    ):
        replies = list(callers.map(lambda _: server.post("/rerank", body), range(12)))
        statuses = [reply.status for reply in replies]
        assert set(statuses) == {200, 503}
        refused = next(reply for reply in replies if reply.status == 503)
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["error_type"] == "unavailable"
        assert server.post("/rerank", body).status == 200


@pytest.mark.slow
def test_a_bundle_that_comes_late_is_served(start: "Start", built: "Built", tmp_path: Path) -> None:
    path = tmp_path / "late.ranklet"
    with start(path, ready=False) as server:
        server.wait(lambda: any(line["severity"] == "ERROR" for line in server.log()))
        reply = server.ask("GET", "/readyz")
        assert reply.status == 503
        assert reply.json() == {
            "ready": False,
            "reason": "the bundle is missing; the server's log says more",
        }
        assert server.ask("GET", "/healthz").status == 200
        refused = server.post("/rank", {"query": "dough"})
        assert refused.status == 503
        assert str(tmp_path) not in refused.body.decode()
        sleep(2.2)  # two more looks, which have nothing new to say
        errors = [line for line in server.log() if line["severity"] == "ERROR"]
        assert len(errors) == 1
        assert str(path) in errors[0]["message"]
        shutil.copytree(built.fused, tmp_path / "part")
        (tmp_path / "part").rename(path)
        server.wait(lambda: server.ask("GET", "/readyz").status == 200)
        assert server.post("/rank", {"query": "dough"}).status == 200


@pytest.mark.parametrize("how", ["cut", "changed", "no manifest"])
def test_a_damaged_bundle_is_never_served(
    start: "Start", built: "Built", tmp_path: Path, how: str
) -> None:
    path = tmp_path / "damaged.ranklet"
    shutil.copytree(built.fused, path)
    impacts = path / "rankers" / "bm25" / "impacts.npy"
    if how == "no manifest":
        (path / "manifest.json").unlink()
    else:
        data = impacts.read_bytes()
        impacts.write_bytes(data[:-1] if how == "cut" else data[:-1] + b"\x01")
    with start(path, ready=False, RANKLET_CHECK="full") as server:
        server.wait(lambda: any(line["severity"] == "ERROR" for line in server.log()))
        assert server.ask("GET", "/readyz").json()["reason"].startswith("the bundle cannot be read")
        assert server.post("/rank", {"query": "dough"}).status == 503
        assert server.stop() == 0


@pytest.mark.slow
def test_a_bundle_is_replaced_while_it_is_served(
    start: "Start", built: "Built", tmp_path: Path
) -> None:
    path = tmp_path / "served.ranklet"
    shutil.copytree(built.indexed, path)

    def swap(new: Path | None) -> None:
        path.rename(tmp_path / f"old{len(list(tmp_path.iterdir()))}")
        if new is None:
            path.mkdir()
        else:
            shutil.copytree(new, tmp_path / "next")
            (tmp_path / "next").rename(path)

    def default() -> Any:
        return server.ask("GET", "/info").json()["default_pipeline"]

    with start(path) as server:
        first = default()
        swap(built.fused)
        server.wait(lambda: default() != first)
        assert server.post("/rank", {"query": "dough"}).status == 200
        swap(None)  # an empty folder: what is served goes on
        server.wait(lambda: any("still served" in line["message"] for line in server.log()))
        assert server.ask("GET", "/readyz").status == 200
        assert server.post("/rank", {"query": "dough"}).status == 200


def test_the_time_of_an_answer_is_bounded(start: "Start") -> None:
    documents = [f"{at} knead the dough " * 100 for at in range(900)]
    with start(RANKLET_MAX_SECONDS="1", RANKLET_POOL="1", RANKLET_QUEUE="40") as server:
        body = {"query": "how long " * 300, "documents": documents, "explain": True, "k": 100}
        reply = server.post("/rank", body)
        assert reply.status == 504
        assert reply.json()["error"] == "no answer within 1 seconds; ask for less"
        assert server.ask("GET", "/healthz").status == 200


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_loses_no_request(start: "Start", workers: str) -> None:
    body = {"query": "knead", "documents": ["knead the dough " * 30] * 100}
    draining = Event()
    counts = [0] * 6  # answers by caller
    failures: list[Any] = []
    with start(RANKLET_DRAIN_SECONDS="1", RANKLET_WORKERS=workers) as server:

        def call(at: int) -> None:
            """Ask again and again on one connection, as a proxy does, until it is to be closed."""
            connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
            try:
                while not draining.is_set():
                    connection.request("POST", "/rerank", json.dumps(body), JSON)
                    reply = connection.getresponse()
                    reply.read()
                    counts[at] += 1
                    if reply.status != 200:
                        failures.append(reply.status)
                    if reply.headers.get("Connection") == "close":
                        connection.close()  # and a new one for the next
            except (OSError, HTTPException) as error:
                failures.append(error)
            finally:
                connection.close()

        with ThreadPoolExecutor(len(counts)) as callers:
            work = [callers.submit(call, at) for at in range(len(counts))]
            # Under load: every caller is in the middle of its work, however slow the machine is.
            server.wait(lambda: min(counts) > 2 or bool(failures))
            os.kill(server.process.pid, signal.SIGTERM)
            # A load balancer looks away once readiness is false.
            server.wait(lambda: server.ask("GET", "/readyz").status == 503, 3)
            draining.set()
            for each in work:
                each.result()
        assert failures == []
        assert server.process.wait(10) == 0
        assert any("SIGTERM" in line["message"] for line in server.log())


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(start: "Start") -> None:
    with start(RANKLET_WORKERS="2") as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        before = {int(pid) for pid in children.read_text().split()}
        commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in before}
        victim = next(pid for pid, command in commands.items() if b"spawn_main" in command)
        os.kill(victim, signal.SIGKILL)
        server.wait(lambda: any("a worker ended" in line["message"] for line in server.log()))
        server.wait(lambda: len(set(children.read_text().split()) - {str(victim)}) >= len(before))
        for _ in range(10):
            server.wait(lambda: server.ask("GET", "/readyz").status == 200)
        assert server.stop() == 0


def test_an_address_that_is_taken_is_told(server: "Server", built: "Built") -> None:
    environment = {**os.environ, "RANKLET_BUNDLE": str(built.fused), "PORT": str(server.port)}
    done = subprocess.run(
        [sys.executable, "-m", "ranklet.handlers.http"],
        env={**environment, "HOST": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr
