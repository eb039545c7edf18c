"""`ranklet judge` in a process of its own, for tests that mark documents over HTTP."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JSON = {"Content-Type": "application/json"}
PATIENCE = 120  # seconds after which a process counts as hanging
# In the background Ctrl-C is ignored, unless this is said first.
CTRL_C = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = f"{CTRL_C}from ranklet.commands import main; sys.exit(main())"


@dataclass
class Judging:
    """A running judge.

    Attributes:
        process: of the command.
        url: the page's address, as it was printed.
        folder: where marks go.
    """

    process: "subprocess.Popen[str]"
    url: str
    folder: Path

    def ask(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request; return the status and the JSON body."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        try:
            raw = None if body is None else json.dumps(body).encode()
            method = "GET" if body is None else "POST"
            connection.request(method, path, raw, {**JSON, **(headers or {})})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()

    def end(self) -> str:
        """Press Ctrl-C; return what the command prints after its first line."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return out


@contextmanager
def judging(
    bundle: Path | str, queries: Sequence[str], folder: Path, *options: str
) -> Iterator[Judging]:
    """Run a judge until the block ends."""
    command = [sys.executable, "-W", "error", "-c", COMMAND, "judge", str(bundle), "-"]
    command += ["-o", str(folder), "--port", "0", "--no-browser", *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    ) as process:  # fmt: skip
        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write("\n".join(queries))
            process.stdin.close()
            process.stdin = None  # so that communicate() does not flush it
            line = process.stdout.readline()
            assert " at http://127.0.0.1:" in line, line
            yield Judging(process, line.split(" at ")[1].split()[0], folder)
        finally:
            if process.poll() is None:
                process.kill()
