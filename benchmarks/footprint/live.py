"""A search that is written to while it is read: ours, SQLite FTS5, tantivy, LanceDB and Chroma."""

import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from time import perf_counter, sleep
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import google_wiki
from benchmarks.built.peers import asked, opened
from benchmarks.footprint.live_engines import New, new_texts
from benchmarks.footprint.update_speed import exported
from benchmarks.harness.contest import contest, environment
from benchmarks.harness.place import Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import goal, table
from benchmarks.harness.timing import take_turns
from benchmarks.speed.http_load import server, wrk
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.compact import compact
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.runtime.ranking import load

PACKAGES = ("onnxruntime", "tokenizers")
PEERS = ("tantivy==0.27.0", "lancedb==0.40.0", "chromadb==1.5.9")  # which brings onnxruntime
OWN = ("markdown-it-py", "py3langid", "snowballstemmer", "stop-words", "tqdm")
COLLECTION = "google-wiki"
PROBES = 2_000  # documents of which some are encoded to prove the export of MiniLM
CHROMA = 20_000  # documents; all take an hour
ROUNDS = {"warm up": 3, "add": 120, "delete": 40, "batch": 2}
BATCH = 1_000
SINGLE = (1, 10, 1_000)  # adds before queries are timed
QUERIES, QUERY_ROUNDS = 300, 3
PER_SECOND, CONNECTIONS = 20, 8
SERVER_ROUNDS, SERVER_SECONDS = 3, 4.0
OURS, NETWORK = "ranklet, words", "ranklet, words and MiniLM int8"

WRITER = """
import ranklet
bundle = ranklet.open(folder, writable=True)
most = 0
for name, text, _ in new:
    bundle.add([{"id": name, "text": text}])
    status = open("/proc/self/status").read().split()
    most = max(most, int(status[status.index("RssAnon:") + 1]) * 1024)
answer["anonymous"] = most
"""


def run(place: Place) -> str:
    """Take turns in writing, then time queries and a server, and measure a writer's memory."""
    folder = place.work / "live"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    base = google_wiki(place)
    documents = list(place.collection(COLLECTION).documents())
    new = new_texts([(each.id, f"{each.title} {each.text}") for each in documents])
    wrote = _writes(place, folder, base, documents)
    most = fresh(WRITER, {"folder": str(_copied(base, folder / "memory")), "new": _next(new, 30)})
    rows, goals = _rows(wrote)
    return f"""
google-wiki, {len(documents):,} documents ({CHROMA:,} for Chroma), one \
thread. One process writes, and another one looks until it finds the document, or does not any \
more; engines take turns. Medians and p99 in ms; *processor* is the writer's.

{rows}

{goals}
{_queries(place, folder, base, new)}
{goal("a writer's anonymous memory", most["anonymous"] / 1e6, 60, "MB")}
{_served(place, folder, base, new)}
- The collection's vectors are random unit vectors, because MiniLM's would take hours to compute; \
how long a write takes does not depend on their values. New documents are encoded.
- SQLite has its write-ahead log with `synchronous = full`. LanceDB searches without its index \
what that has not yet. Chroma does not rank by words: it looks for documents that contain one, and \
has vectors of eight numbers. For an add, SQLite calls fsync once, Chroma 8 times, tantivy 16 \
times and LanceDB never (strace).
"""


def _writes(
    place: Place, folder: Path, base: Path, documents: Sequence[Document]
) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return ms and processor ms by task and engine."""
    texts = folder / "texts.json"
    rows = [(str(at), f"{each.title} {each.text}") for at, each in enumerate(documents)]
    texts.write_text(json.dumps(rows))

    def build(path: Path) -> None:
        rankers = exported(folder / "rankers", documents[:PROBES], True)
        with patch.object(DenseEncoder, "encode_documents", _random_vectors):
            index_bundle(rankers, Source(map(Document._asdict, documents)), path)

    network = place.keep("live-network.ranklet", build)
    contenders = {
        OURS: ("ranklet", _copied(base, folder / "words"), 0),
        NETWORK: ("ranklet", _copied(network, folder / "network"), 0),
        "SQLite FTS5": ("sqlite", folder / "sqlite", len(rows)),
        "tantivy": ("tantivy", folder / "tantivy", len(rows)),
        "LanceDB": ("lancedb", folder / "lancedb", len(rows)),
        "Chroma": ("chroma", folder / "chroma", CHROMA),
    }
    given = {name: (kind, str(path), count) for name, (kind, path, count) in contenders.items()}
    request = {"texts": str(texts), "contenders": given, "rounds": ROUNDS, "batch": BATCH}
    python = environment(place, "live-peers", (*PEERS, *OWN))
    return contest(place, "live_engines", request, package="footprint", python=python)


def _random_vectors(
    encoder: DenseEncoder, texts: list[str]
) -> tuple[NDArray[np.float32], list[int]]:
    """Return a random unit vector for each document, (texts, dimension), of which none is cut."""
    drawn = np.random.default_rng(len(texts[0])).standard_normal(
        (len(texts), encoder.settings.dimension), np.float32
    )
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True), []


def _rows(wrote: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> tuple[str, str]:
    """Return the table of writes, and its goals."""
    rows, p50, p99 = [], dict[str, float](), dict[str, float]()
    for name, added in wrote["add"].items():
        (p50[name], used), p99[name] = _medians(added), float(np.percentile(added, 99, axis=0)[0])
        others = [_medians(wrote[task][name])[0] for task in ("delete", "batch")]
        rows.append([name, *(f"{each:,.0f}" for each in (p50[name], p99[name], used, *others))])
    head = ["", "add one, p50", "p99", "processor", "delete one, p50", f"{BATCH:,} in one batch"]
    goals = [
        goal("add one, by words, p50", p50[OURS], 30),
        goal("add one, by words, p99", p99[OURS], 150),
        goal("add one, with MiniLM, p50", p50[NETWORK], 60),
    ]
    return table(head, rows), "\n".join(goals)


def _medians(measured: Sequence[tuple[float, float]]) -> list[float]:
    """Return the median ms, and the median ms of the processor."""
    return [float(each) for each in np.median(measured, axis=0)]


def _queries(place: Place, folder: Path, base: Path, new: Iterator[New]) -> str:
    """Return by how much queries are slower after single adds than after they are compacted."""
    texts = [text for text, _ in asked(place, opened(base))][:QUERIES]
    bundles: dict[str, Bundle] = {}
    for count in SINGLE:
        path = _copied(base, folder / f"after-{count}")
        writer = WritableBundle(path)
        for name, text, _ in _next(new, count):
            writer.add([{"id": name, "text": text}])
        bundles[f"{count:,}"] = load(path)
    parts = [len(each.additions.parts) for each in bundles.values() if each.additions]
    joined = _copied(path, folder / "compacted")
    shutil.copytree(f"{path}.additions", f"{joined}.additions")
    ms = take_turns(
        {name: each.rank for name, each in {**bundles, "": compact(joined)}.items()},
        texts,
        QUERY_ROUNDS,
    )
    before = float(np.median(ms.pop("")))
    ratios = {name: float(np.median(each)) / before for name, each in ms.items()}
    what = "a query's p50 after single adds ÷ compacted"
    said = (
        f"- That is {', '.join(f'{each:.2f}' for each in ratios.values())} × after "
        f"{', '.join(ratios)} adds, in {', '.join(map(str, parts))} additions; compacted "
        f"{before:.2f} ms."
    )
    return f"{goal(what, max(ratios.values()), 1.4, '×')}\n{said}"


def _served(place: Place, folder: Path, base: Path, new: Iterator[New]) -> str:
    """Return how long a server's callers wait while documents arrive."""
    texts = [text for text, _ in asked(place, opened(base))][:QUERIES]
    bundle, quiet, busy, came = _copied(base, folder / "served"), [], [], []
    with server(bundle, {"RANKLET_WRITE_KEYS": "write"}) as (_, port):
        wrk(port, texts, CONNECTIONS, SERVER_SECONDS)
        for _ in range(SERVER_ROUNDS):
            quiet.append(wrk(port, texts, CONNECTIONS, SERVER_SECONDS))
            with _arriving(port, new) as count:
                busy.append(wrk(port, texts, CONNECTIONS, SERVER_SECONDS))
            came.append(count[0] / SERVER_SECONDS)
    (p50, p99), (p50_busy, p99_busy) = (
        np.median([(each.p50, each.p99) for each in found], axis=0) for found in (quiet, busy)
    )
    if sum(each.wrong for each in (*quiet, *busy)):
        raise ValueError("requests failed")
    what = f"a server's p99 with {PER_SECOND} adds per second ÷ without"
    said = (
        f"- {CONNECTIONS} connections, one process: p50 {p50:.1f} → {p50_busy:.1f} ms, p99 "
        f"{p99:.1f} → {p99_busy:.1f} ms, medians of {SERVER_ROUNDS} rounds; "
        f"{np.median(came):.0f} documents per second were written."
    )
    return f"{goal(what, float(p99_busy / p99), 2, '×')}\n{said}"


@contextmanager
def _arriving(port: int, new: Iterator[New]) -> Iterator[list[int]]:
    """Send a server what is due, at most one request at a time; yield how many it has written."""
    count, ended, failed = [0], threading.Event(), list[int]()

    def send() -> None:
        connection, begin = HTTPConnection("127.0.0.1", port), perf_counter()
        head = {"x-api-key": "write", "content-type": "application/json"}
        while not ended.is_set():
            due = max(1, int((perf_counter() - begin) * PER_SECOND) - count[0])
            sent = [{"id": name, "text": text} for name, text, _ in islice(new, due)]
            body = json.dumps({"documents": sent})
            connection.request("POST", "/documents", body, head)
            answer = connection.getresponse()
            answer.read()
            count[0] += due
            failed.extend([answer.status] * (answer.status != 200))
            sleep(max(0.0, begin + count[0] / PER_SECOND - perf_counter()))
        connection.close()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()
    if failed:
        raise ValueError(f"a write was answered with {failed[0]}")


def _next(new: Iterator[New], count: int) -> list[Any]:
    return [tuple(each) for each in islice(new, count)]


def _copied(bundle: Path, target: Path) -> Path:
    """Return a copy of a bundle that shares its files, which never change."""
    shutil.copytree(bundle, target, copy_function=os.link)
    return target
