"""What callers, the network and schedulers do to a server: it bounds them, and loses no request."""

import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest
from tests.handlers.conftest import JSON, PATIENCE
from tests.handlers.gate import Gate

from ranklet.handlers.server.settings import ServerSettings
from ranklet.handlers.server.uvicorn_server import listen, serve
from ranklet.runtime.ground import tracing
from ranklet.runtime.ground.errors import InputError, MissingPackageError
from ranklet.runtime.ground.variables import Variable

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.handlers.conftest import Server, Start

HEAD = b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LONG = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"


def until_closed(connection: socket.socket) -> bytes:
    """Return what arrives until the server hangs up."""
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    "sent",
    [
        [b"nonsense\r\n\r\n"],
        [b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"],
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
def test_a_head_that_is_too_long_is_answered_as_all_errors_are(server: "Server") -> None:
    reply = server.ask("GET", f"/rank?query={'dough+' * 5000}")
    assert (reply.status, reply.json()["error_type"]) == (400, "malformed")
    assert "more than 16,384 bytes; POST what is long" in reply.json()["error"]


def test_a_connection_too_many_is_told_so_and_disturbs_no_other(start: "Start") -> None:
    with start(RANKLET_MAX_CONNECTIONS="1") as server:
        first = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)

        def status() -> int:
            first.request("GET", "/healthz")
            response = first.getresponse()
            response.read()
            return response.status

        while status() != 200:  # the fixture's connection may not have ended
            sleep(0.05)
        for _ in range(2):
            assert status() == 200
            reply = server.post("/rank", {"query": "dough"})
            assert (reply.status, reply.json()["error_type"]) == (503, "unavailable")
            assert reply.headers["retry-after"] == "1"
        first.close()
        while server.ask("GET", "/healthz").status != 200:
            sleep(0.05)


@pytest.mark.slow
def test_slow_callers_are_bounded_and_others_are_answered(start: "Start") -> None:
    with start(RANKLET_HEADER_SECONDS="2", RANKLET_MAX_SECONDS="2") as server:
        begin = monotonic()
        silent = [server.open() for _ in range(20)]
        dripping = [server.open() for _ in range(20)]
        bodies = [server.open() for _ in range(20)]
        for connection in bodies:
            connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        for byte in HEAD[:8]:
            for connection in dripping:
                with suppress(ConnectionError):  # a machine that is slow: its time is up already
                    connection.sendall(bytes([byte]))
            assert server.ask("GET", "/healthz").status == 200
        assert all(until_closed(connection) == b"" for connection in (*silent, *dripping))
        for connection in bodies:
            assert until_closed(connection).startswith(b"HTTP/1.1 408")
        assert monotonic() - begin >= 2
        for connection in (*silent, *dripping, *bodies):
            connection.close()


def ask_and_never_read(connection: socket.socket) -> None:
    """Send request upon request, until the server hangs up."""
    until = monotonic() + PATIENCE
    while monotonic() < until:
        with suppress(TimeoutError):
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)


@pytest.mark.slow
def test_a_caller_who_does_not_read_is_bounded(start: "Start") -> None:
    with start(RANKLET_MAX_SECONDS="1") as server, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.5)
        connection.connect(("127.0.0.1", server.port))
        with pytest.raises(ConnectionError):
            ask_and_never_read(connection)
        assert server.ask("GET", "/healthz").status == 200


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with listen(ServerSettings("a bundle", host="127.0.0.1", port=0)) as found:
        yield found


def test_an_address_that_is_taken_is_an_error(listening: socket.socket) -> None:
    port = listening.getsockname()[1]
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}: Address"):
        listen(ServerSettings("a bundle", host="127.0.0.1", port=port))


@pytest.mark.parametrize("host", ["no such host", "a" * 70, "a\0b", "256.0.0.1"])
def test_an_address_that_is_none_is_an_error(host: str) -> None:
    with pytest.raises(InputError, match=r"cannot listen on .* port 0: "):
        listen(ServerSettings("a bundle", host=host, port=0))


def test_traces_without_their_package_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(Variable.TRACES, "1")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    tracing.tracer.cache_clear()
    with pytest.raises(MissingPackageError, match="opentelemetry"):
        serve(ServerSettings("a bundle", port=0))


@pytest.mark.slow
def test_sigterm_lets_a_running_request_end(start: "Start", gate: Gate) -> None:
    with start(gate=gate) as server, ThreadPoolExecutor(1) as caller:
        gate.shut()
        reply = caller.submit(server.post, "/rank", {"query": "dough"})
        server.wait(lambda: gate.reached)
        server.process.send_signal(signal.SIGTERM)
        server.wait(lambda: any("SIGTERM" in line["message"] for line in server.log()))
        assert not reply.done()
        gate.open()
        assert reply.result().status == 200
        assert server.process.wait(PATIENCE) == 0


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_loses_no_request(start: "Start", workers: str) -> None:
    body = b'{"query": "knead", "documents": ["knead the dough"]}'
    draining = Event()
    counts = [0] * 6  # answers by caller
    failures: list[Any] = []
    with start(RANKLET_DRAIN_SECONDS="3600", RANKLET_WORKERS=workers) as server:

        def call(at: int) -> None:
            """Ask again and again on one connection, as a proxy does, until it is to be closed."""
            connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            try:
                while not draining.is_set():
                    connection.request("POST", "/rerank", body, JSON)
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
            server.wait(lambda: server.ask("GET", "/readyz").status == 503)
            draining.set()
            for each in work:
                each.result()
        assert failures == []
        assert server.process.poll() is None
        os.kill(server.process.pid, signal.SIGTERM)  # a second one does not wait for the time
        assert server.process.wait(PATIENCE) == 0
        assert any("SIGTERM" in line["message"] for line in server.log())


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_worker_that_dies_is_replaced(start: "Start", workers: str) -> None:
    with start(RANKLET_WORKERS=workers) as server:
        before = server.workers()
        assert len(before) == int(workers)
        os.kill(before[0], signal.SIGKILL)
        ended = "a worker ended by SIGKILL; another one starts"
        server.wait(lambda: any(line["message"] == ended for line in server.log()))
        server.wait(lambda: len(set(server.workers()) - {before[0]}) == int(workers))
        server.wait(lambda: all(ready(server) for _ in range(10)))
        assert server.stop() == 0


def ready(server: "Server") -> bool:
    with suppress(OSError):
        return server.ask("GET", "/readyz").status == 200
    return False


@pytest.mark.slow
def test_a_bundle_that_is_shortened_while_it_serves_ends_no_server(
    start: "Start", built: "Built", tmp_path: Path
) -> None:
    path, fresh = tmp_path / "b.zip", tmp_path / "fresh.zip"
    for each in (path, fresh):
        shutil.copyfile(built.zipped, each)
    with start(path) as server:
        os.truncate(path, 0)

        def ended() -> list[dict[str, Any]]:
            with suppress(OSError, HTTPException):  # the process ends as it reads what is gone
                server.post("/rank", {"query": "knead dough"})
            return [line for line in server.log() if "by SIGBUS" in line["message"]]

        server.wait(lambda: bool(ended()))
        assert "renaming" in ended()[0]["message"]
        fresh.rename(path)
        server.wait(lambda: ready(server))
        assert server.post("/rank", {"query": "knead dough"}).status == 200


@pytest.mark.slow
def test_no_worker_outlives_its_supervisor(start: "Start") -> None:
    with start() as server:
        (worker,) = server.workers()
        server.process.kill()
        server.process.wait(PATIENCE)
        until = monotonic() + PATIENCE
        while Path(f"/proc/{worker}").exists():  # nobody but the system collects it
            state = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":
                break
            assert monotonic() < until
            sleep(0.05)


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_is_one_signal(start: "Start") -> None:
    with start() as server:
        (worker,) = server.workers()
        assert os.getpgid(worker) != os.getpgid(server.process.pid)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE) == 0
        messages = [line["message"] for line in server.log() if "shutting down" in line["message"]]
        assert messages == ["SIGINT: shutting down in 0 s"]
