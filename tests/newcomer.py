"""What a newcomer has: a folder, commands, and a machine that reaches no other one."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Python imports it in every process, before anything else. Only this machine can be reached.
BLOCKED = """
import socket

HERE = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "", None)


def refuse(host):
    if host not in HERE:
        raise OSError(f"blocked: {host}")


class Blocked(socket.socket):
    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            refuse(address[0])
        return super().connect(address)

    def connect_ex(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            refuse(address[0])
        return super().connect_ex(address)


def resolve(host, *arguments, **options):
    refuse(host.decode() if isinstance(host, bytes) else host)
    return found(host, *arguments, **options)


found = socket.getaddrinfo
socket.socket, socket.getaddrinfo = Blocked, resolve
"""


class Newcomer:
    """A folder, and processes that can reach nothing but this machine.

    Args:
        folder: has a table of texts.
        blocked: has the module that closes the network.
    """

    def __init__(self, folder: Path, blocked: Path) -> None:
        self.folder = folder
        offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")  # it must work without them, too
        self.environment = {key: value for key, value in os.environ.items() if key not in offline}
        paths = [str(blocked), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment |= {"PYTHONPATH": os.pathsep.join(paths), "HOME": str(folder)}

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "ranklet", *map(str, arguments)]

    def run(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment, check=False,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    def output(self, *arguments: object) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        assert "Loading weights" not in done.stderr
        return done.stdout

    @contextmanager
    def serving(self, bundle: str) -> Iterator[str]:
        """Serve a bundle and yield the server's address."""
        command = self.command("serve", bundle, "--port", 0)
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment | {"RANKLET_DRAIN_SECONDS": "0"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            seen = []
            for line in process.stdout:
                seen.append(line)
                if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield address[0]
                    return
            pytest.fail("".join(seen))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
