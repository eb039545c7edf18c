"""What a newcomer does: a table of texts, a search, a server; every process is cut off."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import DATA
from tests.models import sentence_folder

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


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    """Return a newcomer with the table texts.csv, whose texts are about the household."""
    records = [json.loads(line) for line in (DATA / "household.jsonl").read_text().splitlines()]
    with (tmp_path / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["nr", "headline", "body"])
        writer.writerows([each["id"], each["title"], each["text"]] for each in records)
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCKED)
    return Newcomer(tmp_path, tmp_path / "blocked")


def answer(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(  # noqa: S310  # an address of this machine
        f"{address}/rank", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
        return json.load(reply)


def test_other_machines_cannot_be_reached(newcomer: Newcomer) -> None:
    for code in (
        "import urllib.request; urllib.request.urlopen('https://example.org')",
        "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
        "import socket; socket.socket().connect_ex(('192.0.2.1', 80))",
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], env=newcomer.environment, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
        assert "blocked: " in done.stderr


@pytest.mark.slow
def test_a_table_becomes_a_search_by_words(newcomer: Newcomer) -> None:
    pytest.importorskip("uvicorn")
    text = newcomer.output("build", "texts.csv", "-o", "search.ranklet", "--skip-bad")
    said, built, hint = text.splitlines()
    assert said == "texts.csv: the text is 'body', the title is 'headline', ids are numbered"
    assert built == "41 documents → search.ranklet"
    command = re.fullmatch(r"try: ranklet rank search\.ranklet '(.+)'", hint)
    assert command is not None
    assert command[1] in newcomer.output("rank", "search.ranklet", command[1])
    assert "Baking bread" in newcomer.output(
        "rank", "search.ranklet", "how to knead dough", "-k", 1
    )
    with newcomer.serving("search.ranklet") as address:
        assert answer(address, {"query": "how to knead dough", "k": 1})["hits"][0]["title"]


@pytest.mark.slow
def test_a_table_and_a_model_become_a_hybrid_search(newcomer: Newcomer) -> None:
    pytest.importorskip("uvicorn")
    sentence_folder(newcomer.folder / "tiny-model")
    arguments = ("build", "texts.csv", "-o", "search.ranklet", "--skip-bad", "--variants", "fp32")
    text = newcomer.output(*arguments, "--model", "tiny-model")
    assert "41 documents → search.ranklet" in text
    inspected = newcomer.output("inspect", "search.ranklet")
    assert "ranker   tiny-model: dense" in inspected
    assert "(default): retrieve 1000 by bm25 → retrieve" in inspected
    line = newcomer.output("rank", "search.ranklet", "how to knead dough", "-k", 3, "--json")
    ranked = json.loads(line)
    assert len(ranked["hits"]) == 3
    with newcomer.serving("search.ranklet") as address:
        served = answer(address, {"query": "how to knead dough", "k": 3})
    for hit, other in zip(served["hits"], ranked["hits"], strict=True):
        assert (hit["id"], hit["score"]) == (other["id"], other["score"])


@pytest.mark.slow
def test_faults_are_said_before_anything_is_written(newcomer: Newcomer) -> None:
    done = newcomer.run("build", "texts.csv", "-o", "search.ranklet")
    assert done.returncode == 1
    assert "1 of 42 documents of texts.csv cannot be used:" in done.stderr
    assert "1 document has no text: texts.csv:" in done.stderr
    assert "pass --skip-bad" in done.stderr
    assert not (newcomer.folder / "search.ranklet").exists()
