"""Run the examples of a page as a reader does: block after block, as written, in a fresh folder.

Blocks of `sh` and `python` run. A block of `text` shows lines that the block before it has printed.
A block that only starts a server keeps it running until the next one does, or the page ends. Its
port is one that is free, also where later blocks name the one that the page does.
"""

import re
import shlex
import signal
import subprocess
import sys

import pytest
from tests.docs.pages import Block, blocks
from tests.newcomer import Newcomer

SERVERS = ("ranklet serve", "ranklet judge")
STATUS = re.compile(r"# ends with status (\d+)")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
WRAPPER = '#!/bin/sh\nexec {python} {arguments} "$@"\n'
PIP = "import sys; open('pip.log', 'a').write(' '.join(sys.argv[1:]) + '\\n')"  # installs nothing


class Reader:
    """Someone who types what a page says.

    Args:
        newcomer: whose folder and environment it is.
    """

    def __init__(self, newcomer: Newcomer) -> None:
        self.folder = newcomer.folder
        binaries = self.folder / ".bin"
        binaries.mkdir()
        for name, arguments in {
            "ranklet": "-m ranklet",
            "export-onnx": "-m ranklet export",
            "python": "",
            "pip": f'-c "{PIP}"',
        }.items():
            path = binaries / name
            path.write_text(WRAPPER.format(python=shlex.quote(sys.executable), arguments=arguments))
            path.chmod(0o755)
        shown = {key: value for key, value in newcomer.environment.items() if "DISPLAY" not in key}
        self.environment = shown | {
            "PATH": f"{binaries}:{newcomer.environment['PATH']}",
            "COLUMNS": "100",
            "RANKLET_DRAIN_SECONDS": "0",
        }
        self._server: subprocess.Popen[str] | None = None
        self._address = ""
        self._printed = ""

    def read(self, page: str) -> None:
        """Run the blocks of a page in order; fail at the first that does not do what it says."""
        try:
            for block in blocks(page):
                self._follow(block)
        finally:
            self._stop()

    @property
    def installed(self) -> list[str]:
        """What the page installs: arguments of pip, without options."""
        words = (self.folder / "pip.log").read_text().split()
        return [word for word in words if word != "install" and not word.startswith("-")]

    def _follow(self, block: Block) -> None:
        if block.language == "text":
            missing = [line for line in shown(block.code) if line not in shown(self._printed)]
            assert not missing, f"line {block.line}: {missing[0]!r} is not in\n{self._printed}"
        elif block.language == "python":
            self._run(block, [sys.executable, "-c", block.code])
        elif block.language == "sh" and block.code.startswith(SERVERS):
            self._start(block)
        elif block.language == "sh":
            assert not any(f"\n{each}" in block.code for each in SERVERS), "it would never end"
            code = ADDRESS.sub(self._address, block.code) if self._address else block.code
            self._run(block, ["bash", "-eu", "-o", "pipefail", "-c", code])

    def _run(self, block: Block, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, check=False, text=True, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._printed = done.stdout
        expected = STATUS.search(block.code)
        status = int(expected[1]) if expected else 0
        assert done.returncode == status, f"line {block.line}: {block.code}\n{done.stdout}"
        assert "Traceback" not in done.stdout

    def _start(self, block: Block) -> None:
        self._stop()
        command = [*shlex.split(block.code, comments=True), "--port", "0"]
        self._server = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, text=True,
            executable=str(self.folder / ".bin" / "ranklet"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert self._server.stdout is not None
        seen = []
        for line in self._server.stdout:
            seen.append(line)
            if address := ADDRESS.search(line):
                self._address = address[0]
                return
        self._server.communicate(timeout=60)
        self._server = None
        pytest.fail(f"line {block.line}: {''.join(seen)}")

    def _stop(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            rest = self._server.communicate(timeout=60)[0]
            assert self._server.returncode == 0, rest
            self._server = None


def shown(text: str) -> list[str]:
    """Return the lines of an output without what depends on its layout."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]
