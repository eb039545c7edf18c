"""The HTTP server under load on loopback: throughput, p50 and p99, errors, memory over time.

10 hits with their texts; one server process, the callers in this one, on the same processors.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.all_systems.bundles import Scope, bundle_of
from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import BM25, QA_MIX
from benchmarks.built.bundles import google_wiki
from benchmarks.built.peers import asked, opened
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from ranklet.runtime.ranking import load as load_bundle
from ranklet.training.data.splits import read_split

PACKAGES = ("httptools", "starlette", "uvicorn")
CONNECTIONS = (1, 8, 64)
SECONDS = 5.0  # for each number of connections
REQUESTS, HYBRID_REQUESTS = 20_000, 4_000  # in which memory must not grow
ROUNDS, ROUND = 15, 200  # of requests on one connection, to find out what HTTP adds
MOST_ADDED = 0.35  # ms
STARTS = 7  # after one that fills the page cache
MOST_GROWTH = 8 << 20  # bytes: what allocators settle by
HEAD = (
    b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
)

# An application that answers with the request's body, and does nothing else.
ECHO = """
import json, uvicorn
from ranklet.handlers.server.connection import BoundedProtocol
from ranklet.handlers.server.settings import ServerSettings
from ranklet.handlers.server.uvicorn_server import listen

async def echo(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})

listening = listen(ServerSettings("", host="127.0.0.1", port=0))
print(json.dumps({"message": f":{listening.getsockname()[1]}"}), "ready", sep="\\n", flush=True)
config = uvicorn.Config(echo, http=BoundedProtocol, ws="none", lifespan="off", log_config=None)
uvicorn.Server(config).run([listening])
"""


def run(place: Place) -> str:
    """Start a server, load it, and stop it with SIGTERM."""
    lexical, hybrid = google_wiki(place), bundle_of(_hybrid(place), QA_MIX)
    queries = [text for text, _ in asked(place, opened(lexical))]
    others = [each.text for each in read_split(place.collection(QA_MIX), "dev", limit=500)]
    count = len(load_bundle(hybrid))
    return f"""
google-wiki, 189,814 documents, BM25 over lemmas:
{measure(lexical, queries, SECONDS, REQUESTS)}
{added(lexical, queries[:ROUND], ROUNDS)}
{QA_MIX}, {count:,} documents, BM25 and MiniLM as it comes (int8), fused by reciprocal ranks:
{measure(hybrid, others, SECONDS, HYBRID_REQUESTS)}
- The callers are in Python, too, and take a good part of the processors. *Own memory* is resident \
and private: pages of the bundle's files, which the kernel may drop, are not in it.
"""


def _hybrid(place: Place) -> Scope:
    """Return what the bundle is made of that `ranklet build --model` would make."""
    rankers = {name: RANKERS[name] for name in (BM25, "minilm")}
    return Scope(place, rankers=rankers, name="hybrid")


def measure(bundle: Path, queries: Sequence[str], seconds: float, requests: int) -> str:
    """Return the section's body for a bundle and queries."""
    rows, failed = [], 0
    start_up = float(np.median([_start_up(bundle) for _ in range(STARTS)]))
    with server(bundle) as (process, port):
        asyncio.run(load(port, queries, 1, requests=200))  # what is opened once
        for connections in CONNECTIONS:
            begin = perf_counter()
            times, wrong = asyncio.run(load(port, queries, connections, seconds=seconds))
            took, ms = perf_counter() - begin, np.array(times) * 1e3
            failed += wrong
            middle, most = np.median(ms), np.percentile(ms, 99)
            rows.append([connections, f"{len(ms) / took:,.0f}", f"{middle:.2f}", f"{most:.2f}"])
        asyncio.run(load(port, queries, 8, requests=len(queries)))  # every query once
        before = own_memory(process.pid)
        times, wrong = asyncio.run(load(port, queries, 8, requests=requests))
        grown = own_memory(process.pid) - before
        failed += wrong
    status = process.returncode
    if failed or status:
        raise ValueError(f"{failed} requests failed, and the server ended with {status}")
    verdict = "met" if grown <= MOST_GROWTH else "**missed**"
    return f"""
{table(["connections", "requests a second", "p50, ms", "p99, ms"], rows)}

- From exec until the bundle is served, one trial query included: **{start_up:.0f} ms** (median of \
{STARTS}).
- No request failed, and the server ended with status 0 on SIGTERM.
- Goal: the server's own memory grows by no more than {MOST_GROWTH >> 20} MB over {len(times):,} \
requests: **{grown / 2**20:.1f} MB** on {before / 2**20:.0f} MB, {verdict}.
"""


def added(bundle: Path, queries: Sequence[str], rounds: int) -> str:
    """Return what HTTP adds to `rank()`, next to what an echo takes on the same connections."""
    ranker = load_bundle(bundle)
    p50: dict[str, list[float]] = {"rank() in a process": [], "a bare echo": [], "POST /rank": []}
    alone, echoed, ranked = p50.values()
    with server(bundle) as (_, port), server(bundle, command=("-c", ECHO)) as (_, echo):
        for turn in range(-1, rounds):  # the first warms up and is not counted
            times = []
            for query in queries:
                begin = perf_counter()
                ranker.rank(query)
                times.append(perf_counter() - begin)
            found = [times]
            for each in (echo, port):
                answers, wrong = asyncio.run(load(each, queries, 1, requests=len(queries)))
                if wrong:
                    raise ValueError(f"{wrong} requests failed")
                found.append(answers)
            if turn >= 0:
                for name, seconds in zip(p50, found, strict=True):
                    p50[name].append(float(np.median(seconds)) * 1e3)
    adds = float(np.median(np.subtract(ranked, alone)))
    rows = [[name, f"{np.median(ms):.2f}"] for name, ms in p50.items()]
    return f"""
{table(["one after another", "p50, ms"], rows)}

{goal("what HTTP adds to rank()", adds, MOST_ADDED)} Median of {rounds} rounds of {len(queries)}.
- The echo answers with what it was sent, with the same parser and bounds, and without a thread, \
routes, a log or JSON: about what Python takes for any answer. It took {np.median(echoed):.2f} ms.
"""


def _start_up(bundle: Path) -> float:
    """Return the ms from exec until a server serves a bundle."""
    begin = perf_counter()
    with server(bundle):
        return (perf_counter() - begin) * 1e3


@contextmanager
def server(
    bundle: Path,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = ("-m", "ranklet.handlers.http"),
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Run a server of a bundle on a free port; it is stopped as an orchestrator would.

    Args:
        bundle: what it serves.
        environment: variables next to those that say what it serves and where.
        command: what Python runs.
    """
    variables = {"RANKLET_BUNDLE": str(bundle), "HOST": "127.0.0.1", "PORT": "0"}
    variables["RANKLET_WORKERS"] = "1"
    variables |= environment or {}
    process = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **variables, "RANKLET_DRAIN_SECONDS": "0"},
        stdout=subprocess.PIPE,
    )
    if process.stdout is None:
        raise ValueError("the server has no output")
    try:
        port = int(json.loads(process.stdout.readline())["message"].rpartition(":")[2])
        process.stdout.readline()  # the bundle is served
        drained = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        yield process, port
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        drained.wait(10)
    finally:
        process.kill()
        process.stdout.close()


async def load(
    port: int, queries: Sequence[str], connections: int, *, seconds: float = 1e9, requests: int = 0
) -> tuple[list[float], int]:
    """Ask on some connections at once, each one request after another.

    Returns:
        seconds of each request, and how many were not answered with 200.
    """
    bodies = [json.dumps({"query": query}).encode() for query in queries]
    times: list[float] = []
    wrong, until = 0, perf_counter() + seconds
    asked_for = iter(range(requests or sys.maxsize))

    async def caller() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in asked_for:
            begin = perf_counter()
            if begin > until:
                break
            body = bodies[number % len(bodies)]
            writer.write(HEAD + str(len(body)).encode() + b"\r\n\r\n" + body)
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            wrong += not head.startswith(b"HTTP/1.1 200 ")
            times.append(perf_counter() - begin)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(caller() for _ in range(connections)))
    return times, wrong


def own_memory(pid: int) -> int:
    """Return the resident private memory of a process and of those it started, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text().split()
    own = int(status[status.index("RssAnon:") + 1]) * 1024
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(own_memory(int(child)) for child in children)
