"""A server's reads beside two writes that wait for another program, next to reads without."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

from benchmarks.built.bundles import google_wiki
from benchmarks.built.peers import asked, opened
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.speed.http_load import load, server
from ranklet.runtime.ranking import load as load_bundle
from ranklet.runtime.writing.locks import locked

PACKAGES = ("httptools", "starlette", "uvicorn")
ROUNDS, WINDOWS, SECONDS = 3, 3, 20.0  # writes wait for WINDOWS × SECONDS in each round
WRITERS, CONNECTIONS, QUERIES = 2, 4, 300
VARIABLES = {"RANKLET_WRITE_KEYS": "write", "RANKLET_MAX_SECONDS": "120"}
MOST = 1.2


def run(place: Place) -> str:
    """Load a server in windows of time, in most of which two writes wait."""
    base, bundle = google_wiki(place), place.work / "waiting-writes"
    texts = [text for text, _ in asked(place, opened(base))][:QUERIES]
    for each in (bundle, bundle.with_name(f"{bundle.name}.additions")):
        shutil.rmtree(each, ignore_errors=True)
    shutil.copytree(base, bundle)
    before, alone, beside = len(load_bundle(bundle)), list[float](), list[float]()
    rows, ratios = [], []
    with server(bundle, VARIABLES) as (_, port):
        _window(port, texts)
        for turn in range(ROUNDS):
            quiet = _window(port, texts)
            with _waiting(port, bundle, turn):
                busy = [each for _ in range(WINDOWS) for each in _window(port, texts)]
            alone, beside = alone + quiet, beside + busy
            ratios.append(np.percentile(busy, 99) / np.percentile(quiet, 99))
    if len(load_bundle(bundle)) != before + WRITERS * ROUNDS:
        raise ValueError("a write was lost")
    for name, seconds in {"nobody writes": alone, f"{WRITERS} writes wait": beside}.items():
        p50, p99, most = np.percentile(seconds, (50, 99, 100)) * 1e3
        rows.append([name, f"{len(seconds):,}", f"{p50:.1f}", f"{p99:.1f}", f"{most:.0f}"])
    return f"""
google-wiki, {before:,} documents, one server process with two threads, {CONNECTIONS} connections. \
In each of {ROUNDS} rounds {WRITERS} writes wait {WINDOWS * SECONDS:.0f} s for a program that has \
the bundle's lock, and are written then.

{table(["", "reads", "p50, ms", "p99", "longest"], rows)}

{goal("p99 of reads, two writes waiting ÷ none", float(np.median(ratios)), MOST, "×")} Median of \
the rounds: {", ".join(f"{each:.2f}" for each in ratios)}.
"""


def _window(port: int, texts: list[str]) -> list[float]:
    """Return the seconds of each read in a window of time."""
    seconds, wrong = asyncio.run(load(port, texts, CONNECTIONS, seconds=SECONDS))
    if wrong:
        raise ValueError(f"{wrong} reads failed")
    return seconds


@contextmanager
def _waiting(port: int, bundle: Path, turn: int) -> Iterator[None]:
    """Let writes wait for the lock of a bundle inside of the block; then they must succeed."""

    def write(number: int) -> int:
        connection = HTTPConnection("127.0.0.1", port)
        body = {"documents": [{"id": f"new-{turn}-{number}", "text": "a new document"}]}
        head = {"x-api-key": "write", "content-type": "application/json"}
        connection.request("POST", "/documents", json.dumps(body), head)
        return connection.getresponse().status

    with ThreadPoolExecutor(WRITERS) as pool:
        with locked(bundle.resolve()):
            writes = [pool.submit(write, number) for number in range(WRITERS)]
            yield
            if any(each.done() for each in writes):
                raise ValueError("a write did not wait")
        if {each.result() for each in writes} != {200}:
            raise ValueError("a write failed")
