"""A Runtime API like Lambda's, as its clients see it, and functions that run against it.

The client is the real awslambdaric in a process of its own. The service also enforces Lambda's
limit on responses, which the client does not.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PREFIX = "/2018-06-01/runtime"
MOST_BYTES = 6_291_556
ARN = "arn:aws:lambda:eu-central-1:111122223333:function:search"
CLIENT = (sys.executable, "-W", "error", "-m", "awslambdaric")
HANDLER = "ranklet.handlers.aws_lambda.handler"
PATIENCE = 120  # seconds before a test gives up waiting, however slow the machine is


@dataclass
class Invocation:
    """An event and its response."""

    event: bytes
    timeout_ms: int
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    done: threading.Event = field(default_factory=threading.Event)
    failed: bool = False
    payload: bytes = b""

    @property
    def answer(self) -> Any:
        """The response, parsed as strictly as other languages do."""
        assert self.done.wait(PATIENCE), "the function did not answer"
        return json.loads(self.payload, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignore dropped connections, because tests stop functions."""


class RuntimeAPI:
    """The service. `invoke` and `send` pass events to a function, from any thread."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[Invocation | None] = queue.SimpleQueue()
        self.running: dict[str, Invocation] = {}
        self.init_errors: queue.SimpleQueue[tuple[str, dict[str, Any]]] = queue.SimpleQueue()
        self.restore_errors: list[dict[str, Any]] = []
        self.waited_for = threading.Event()  # the function waits for its first event: init is over
        self.snapshot_ready = threading.Event()  # the client waits to be restored
        self.restore = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._requests())
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "RuntimeAPI":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.restore.set()
        for _each in range(64):  # whoever still waits for an event
            self.waiting.put(None)
        self._server.shutdown()
        self._server.server_close()

    def send(self, event: Any, timeout_ms: int = 30_000) -> Invocation:
        """Pass an event to the function, as an object or as raw text."""
        raw = event if isinstance(event, bytes) else json.dumps(event).encode()
        invocation = Invocation(raw, timeout_ms)
        self.waiting.put(invocation)
        return invocation

    def invoke(self, event: Any, timeout_ms: int = 30_000) -> Any:
        """Return the function's answer; an error is an object with an errorType."""
        return self.send(event, timeout_ms).answer

    def _requests(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without both, Nagle's algorithm makes every invocation take 40 ms.
            wbufsize = -1
            disable_nagle_algorithm = True

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

            def do_GET(self) -> None:
                if self.path == f"{PREFIX}/restore/next":
                    api.snapshot_ready.set()
                    api.restore.wait(PATIENCE)
                    self._reply(200)
                elif self.path == f"{PREFIX}/invocation/next":
                    api.waited_for.set()
                    self._next()
                else:
                    self._reply(404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parts = self.path.removeprefix(f"{PREFIX}/").split("/")
                if parts == ["init", "error"]:
                    kind = self.headers["Lambda-Runtime-Function-Error-Type"]
                    api.init_errors.put((kind, json.loads(body)))
                elif parts == ["restore", "error"]:
                    api.restore_errors.append(json.loads(body))
                elif parts[0] == "invocation" and parts[1] in api.running:
                    if not self._done(api.running.pop(parts[1]), parts[2], body):
                        return
                else:
                    self._reply(404)
                    return
                self._reply(202, b'{"status":"OK"}')

            def _next(self) -> None:
                invocation = api.waiting.get()
                if invocation is None:
                    self.close_connection = True
                    return
                api.running[invocation.id] = invocation
                deadline = int(time.time() * 1e3) + invocation.timeout_ms
                self._reply(
                    200,
                    invocation.event,
                    {
                        "Lambda-Runtime-Aws-Request-Id": invocation.id,
                        "Lambda-Runtime-Deadline-Ms": str(deadline),
                        "Lambda-Runtime-Invoked-Function-Arn": ARN,
                        "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700",
                    },
                )

            def _done(self, invocation: Invocation, kind: str, body: bytes) -> bool:
                invocation.failed, invocation.payload = kind == "error", body
                too_large = kind == "response" and len(body) > MOST_BYTES
                if too_large:
                    message = (
                        f"Response payload size exceeded maximum allowed ({MOST_BYTES} bytes)."
                    )
                    error = {"errorMessage": message, "errorType": "Function.ResponseSizeTooLarge"}
                    invocation.failed, invocation.payload = True, json.dumps(error).encode()
                    self._reply(413, invocation.payload)
                invocation.done.set()
                return not too_large

            def _reply(
                self, status: int, body: bytes = b"", headers: dict[str, str] | None = None
            ) -> None:
                with suppress(ConnectionError):  # the function was stopped meanwhile
                    self.send_response(status)
                    for name, value in (headers or {}).items():
                        self.send_header(name, value)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

        return Requests


class Function:
    """A process in which awslambdaric runs a handler. At the end it and its children are killed.

    Args:
        api: the service that provides events.
        folder: a folder for its log, which is a file because workers would keep a pipe open.
        handler: the handler that awslambdaric runs.
        client: the command that runs the handler.
        variables: further environment variables; None removes one of this process.
    """

    def __init__(
        self,
        api: RuntimeAPI,
        folder: Path,
        handler: str = HANDLER,
        client: Sequence[str] = CLIENT,
        **variables: str | None,
    ) -> None:
        self._log = folder / f"{uuid.uuid4()}.log"
        given: dict[str, str | None] = {
            **os.environ,
            "AWS_LAMBDA_RUNTIME_API": api.address,
            "AWS_LAMBDA_FUNCTION_NAME": "search",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*client, handler],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in given.items() if value is not None},
                start_new_session=True,
            )

    def __enter__(self) -> "Function":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    @property
    def log(self) -> str:
        """Everything that it has printed."""
        return self._log.read_text("utf-8", "replace")

    def lines(self, message: str) -> list[dict[str, Any]]:
        """Return the structured lines with a message."""
        found = []
        for line in self.log.splitlines():
            if line.startswith("{"):
                parsed = json.loads(line)
                if parsed.get("message") == message:
                    found.append(parsed)
        return found

    def wait_for(self, message: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait for structured lines with a message, and return them."""
        until(lambda: len(self.lines(message)) >= count, lambda: f"of its log:\n{self.log}")
        return self.lines(message)


def until(condition: Callable[[], bool], says: Callable[[], str] = lambda: "") -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain {says()}"
        time.sleep(0.02)
