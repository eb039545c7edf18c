"""A real server: uvicorn in a process of its own, on a free port, reached over real sockets."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest
from tests.handlers.gate import Gate

if TYPE_CHECKING:
    from tests.conftest import Built

JSON = {"Content-Type": "application/json"}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
MODULE = "ranklet.handlers.http"
# Seconds before a test gives up, so many that on any machine only a server that hangs needs them.
PATIENCE = 120


@dataclass
class Reply:
    """A response that was read to its end."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    def json(self) -> Any:
        """Return the body, which must be strict JSON."""

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.body.decode("utf-8"), parse_constant=refuse)


class Server:
    """A running server."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
        self.process, self.port, self._log = process, port, log

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send a request on a connection of its own; a body that is not bytes goes as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            sent = ({} if body is None else JSON) if headers is None else headers
            connection.request(method, path, raw, sent)
            reply = connection.getresponse()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, names, reply.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Reply:
        """POST; other headers than the type of JSON are added to it."""
        return self.ask("POST", path, body, {**JSON, **(headers or {})})

    def open(self) -> socket.socket:
        """Open a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def log(self) -> list[dict[str, Any]]:
        """Return the lines of its log: every one of them must be JSON."""
        text = self._log.read_text("utf-8")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def metrics(self) -> str:
        """Return the text for Prometheus."""
        return self.ask("GET", "/metrics").body.decode()

    def workers(self) -> list[int]:
        """Return the processes that it has started to answer, where the system tells."""
        try:
            found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
            commands = {
                int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in found.split()
            }
        except OSError:
            return []
        return [pid for pid, command in commands.items() if b"spawn_main" in command]

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        until = monotonic() + PATIENCE
        while not condition():
            assert monotonic() < until, f"waited in vain; the log: {self.log()}"
            sleep(0.02)

    def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


Start = Callable[..., Any]


@contextmanager
def running(
    folder: Path, command: Sequence[str], bundle: Path, ready: bool, **variables: str
) -> Iterator[Server]:
    """Run a server of a bundle until the block ends."""
    quiet = {"OMP_NUM_THREADS": "1", "RANKLET_DRAIN_SECONDS": "0", "RANKLET_POOL": "2"}
    quiet["RANKLET_WORKERS"] = "1"
    own = {name: value for name, value in os.environ.items() if not name.startswith("RANKLET_")}
    place = {"RANKLET_BUNDLE": str(bundle), "HOST": "127.0.0.1", "PORT": "0"}
    log, errors = folder / "log", folder / "errors"
    with log.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, env={**own, **quiet, **place, **variables}
        )
    server = Server(process, 0, log)
    try:
        server.wait(lambda: process.poll() is not None or bool(server.log()))
        assert process.poll() is None, errors.read_text()
        server.port = int(server.log()[0]["message"].rpartition(":")[2])
        if ready:
            server.wait(lambda: _status(server) == 200)
        yield server
        assert errors.read_text() == ""
    finally:
        workers = server.workers()
        process.kill()
        process.wait()
        for worker in workers:  # else it would notice that it is alone, and log that it ends
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def _status(server: Server) -> int:
    try:
        return server.ask("GET", "/readyz").status
    except OSError:
        return 0


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Return what can hold the rankings of a server: ``with start(gate=gate) as server``."""
    return Gate(tmp_path)


@pytest.fixture
def start(tmp_path: Path, built: "Built") -> Start:
    """Return what starts a server: ``with start(…) as server``."""

    def begin(
        bundle: Path | None = None, ready: bool = True, gate: Gate | None = None, **variables: str
    ) -> Any:
        plain = [sys.executable, "-W", "error", "-m", MODULE]
        command = gate.command(MODULE) if gate else plain
        return running(tmp_path, command, bundle or built.fused, ready, **variables)

    return begin


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, built: "Built") -> Iterator[Server]:
    """Return one server, shared by all tests that do it no harm."""
    folder, command = tmp_path_factory.mktemp("server"), [sys.executable, "-W", "error", "-m"]
    with running(folder, [*command, MODULE], built.fused, ready=True) as shared:
        yield shared


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium from the system, or a skip.

    Each module has its own, because playwright leaves a loop of events running while it is open,
    and tests that begin one would fail beside it.
    """
    api = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("there is no Chromium")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Return a page that fails the test where it logs an error or breaks the content policy."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    context.set_default_timeout(6_000)
    found, faults = context.new_page(), []
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on(
        "console", lambda line: faults.append(line.text) if "Content Security" in line.text else 0
    )
    yield found
    context.close()
    assert faults == []
