"""The HTTP server under load on loopback: throughput, p50 and p99, errors, memory over time.

10 hits with their texts; one server process, the callers in this one, on the same processors.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import goal, goal_at_least, table
from ranklet import build
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import read_split
from ranklet.handlers import logs
from ranklet.handlers.api.answers import rank
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.server.metrics import Metrics
from ranklet.handlers.server.service import encoded
from ranklet.handlers.server.shared_counts import SharedCounts
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.ranking import load as load_bundle
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("httptools", "starlette", "uvicorn")
CONNECTIONS = (1, 8, 64)
ROWS = (
    "processes", "connections", "requests per second", "p50, ms", "p99, ms",
    "processor per request, ms",
)  # fmt: skip
SECONDS = 4  # per row
ENCODED = 2_000  # documents of the bundle with a model
# wrk counts in microseconds.
LUA = """
local bodies, at = {BODIES}, 0
wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"
request = function()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
done = function(summary, latency)
  local e = summary.errors
  print(string.format("RESULT %d %d %d %d %d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""
REQUESTS, HYBRID_REQUESTS = 8_000, 1_000  # in which memory must not grow
ROUNDS, ROUND, ROUND_SECONDS = 7, 200, 1.0  # on one connection, to find out what HTTP adds
MOST_ADDED, MOST_FRAMING = 0.3, 5  # ms, % of a request
FRAMED = 2_000  # requests that are counted and logged
MOST_UNEVEN = 1.2  # times the mean of all processes
WORKERS, LEAST_SECOND = (1, 2), 2_000
STARTS = 3  # after one that fills the page cache
MOST_GROWTH = 8.0  # MB: what allocators settle by
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
    """Start a server, load it, and stop it with SIGTERM.

    Raises:
        MissingDataError: wrk is not installed.
    """
    if shutil.which("wrk") is None:
        raise MissingDataError("wrk is not installed; apt-get install wrk")
    wiki, mix = place.collection("google-wiki"), place.collection("qa-mix")
    lexical = _kept(place, "http-load", wiki.documents())
    documents = islice(mix.documents(), ENCODED)
    hybrid = _kept(place, "http-load-hybrid", documents, models=[wheel_folder()])
    judged = [read_split(each, "dev", limit=500) for each in (wiki, mix)]
    queries, others = ([query.text for query in split] for split in judged)
    sizes = [len(load_bundle(path)) for path in (lexical, hybrid)]
    return f"""
google-wiki, {sizes[0]:,} documents, BM25:
{measure(lexical, queries, WORKERS, REQUESTS)}
{added(lexical, queries[:ROUND], ROUNDS)}
qa-mix, {sizes[1]:,} documents, BM25 and MiniLM as it comes (int8), `ranklet build --model`:
{measure(hybrid, others, WORKERS[:1], HYBRID_REQUESTS)}
- The callers are wrk, which is written in C and runs on the same processors, for {SECONDS:g} s \
per row. *Own memory* is resident and private: pages of the bundle's files, which the kernel may \
drop, are not in it.
"""


def _kept(place: Place, name: str, documents: Iterable[Document], **options: Any) -> Path:
    """Return a bundle that an earlier run has built, unless this code cannot read it any more."""
    path = place.work / f"{name}.ranklet"
    with suppress(RankletError):
        load_bundle(path).rank("bread")
        return path
    place.work.mkdir(parents=True, exist_ok=True)
    rows = ({"id": each.id, "title": each.title, "text": each.text} for each in documents)
    return Path(build(rows, path, overwrite=True, **options))


def measure(bundle: Path, queries: Sequence[str], workers: Sequence[int], requests: int) -> str:
    """Return the section's body for a bundle and queries, served by some numbers of processes."""
    rows, failed, best, uneven = [], 0, 0.0, 1.0
    start_up = float(np.median([_start_up(bundle) for _ in range(STARTS)]))
    for count in workers:
        with server(bundle, {"RANKLET_WORKERS": str(count)}) as (process, port):
            asyncio.run(load(port, queries, count, requests=200))  # what is opened once
            for connections in CONNECTIONS:
                before_load = _worked(process.pid)
                found = wrk(port, queries, connections)
                worked = np.subtract(_worked(process.pid), before_load)
                failed += found.wrong
                best = max(best, found.second)
                if connections == 8:
                    uneven = max(uneven, float(worked.max() / worked.mean()))
                own = worked.sum() * 1e3 / (found.second * SECONDS)
                ms = [f"{each:.2f}" for each in (found.p50, found.p99, own)]
                rows.append([count, connections, f"{found.second:,.0f}", *ms])
            if count == 1:
                asyncio.run(load(port, queries, 8, requests=len(queries)))  # every query once
                before = own_memory(process.pid)
                times, wrong = asyncio.run(load(port, queries, 8, requests=requests))
                grown = own_memory(process.pid) - before
                failed += wrong
        if process.returncode:
            raise ValueError(f"the server ended with {process.returncode}")
    if failed:
        raise ValueError(f"{failed} requests failed")
    goals = [
        f"- The server's own memory has {before / 2**20:.0f} MB before {len(times):,} requests.",
        goal("what it grows by", grown / 2**20, MOST_GROWTH, "MB"),
    ]
    if len(workers) > 1:
        goals.append(goal("the busiest process of two does", uneven, MOST_UNEVEN, "× the mean"))
        goals.append(goal_at_least("requests", best, LEAST_SECOND, "per second"))
    return f"""
{table(ROWS, rows)}

- From exec until the bundle is served, one trial query included: **{start_up:.0f} ms** (median of \
{STARTS}).
- No request failed, and each server ended with status 0 on SIGTERM.
{chr(10).join(goals)}
"""


def added(bundle: Path, queries: Sequence[str], rounds: int) -> str:
    """Return what HTTP adds to `rank()`, next to what an echo takes on the same connections."""
    ranker, limits = load_bundle(bundle), Limits()
    calls: dict[str, Callable[[str], object]] = {
        "rank() in a process": ranker.rank,
        "… and its texts": lambda query: [hit.text for hit in ranker.rank(query)],
        "… and snippets": lambda query: [hit.snippet for hit in ranker.rank(query)],
        "… and all as JSON": lambda query: encoded(rank(ranker, {"query": query}, limits).body),
    }
    found: dict[str, list[float]] = {name: [] for name in (*calls, "a bare echo", "POST /rank")}
    with server(bundle) as (_, port), server(bundle, command=("-c", ECHO)) as (_, echo):
        for turn in range(-1, rounds):
            p50 = [_p50(call, queries) for call in calls.values()]
            p50 += [wrk(each, queries, 1, ROUND_SECONDS).p50 for each in (echo, port)]
            for ms, known in zip(p50, found.values(), strict=True):
                known += [ms] * (turn >= 0)  # the first warms up and is not counted
    ranked = found["POST /rank"]
    adds = float(np.median(np.subtract(ranked, found["rank() in a process"])))
    rows = [[name, f"{np.median(ms):.2f}"] for name, ms in found.items()]
    return f"""
{table(["one after another", "p50, ms"], rows)}

{goal("what HTTP adds to rank()", adds, MOST_ADDED)} Median of {rounds} rounds.
{goal("metrics and the log", _framing() / float(np.median(ranked)) * 100, MOST_FRAMING, "% of it")}
"""


def _p50(call: Callable[[str], object], queries: Sequence[str]) -> float:
    """Return the median ms of a call for each of some queries."""
    times = []
    for query in queries:
        begin = perf_counter()
        call(query)
        times.append(perf_counter() - begin)
    return float(np.median(times)) * 1e3


class Load(NamedTuple):
    """What wrk measured: answers per second, ms of an answer, and how many answers were wrong."""

    second: float
    p50: float
    p99: float
    wrong: int


def wrk(port: int, queries: Sequence[str], connections: int, seconds: float = SECONDS) -> Load:
    """Ask on some connections at once, each one request after another, from a process in C."""
    # In Lua's long brackets nothing is special but what ends them.
    bodies = ",".join(
        "[[" + json.dumps({"query": query}).replace("]", "\\u005d") + "]]" for query in queries
    )
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA.replace("BODIES", bodies))
        script.flush()
        answer = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", script.name,
             f"http://127.0.0.1:{port}/rank"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    count, took, p50, p99, wrong = map(int, answer.rpartition("RESULT ")[2].split())
    return Load(count / took * 1e6, p50 / 1e3, p99 / 1e3, wrong)


def _framing() -> float:
    """Return the ms in which a request is counted and logged."""
    metrics, stages = Metrics(SharedCounts()), [("read body", 0.1), ("retrieve bm25", 0.9)]
    fields = {"request_id": "0" * 32, "method": "POST", "path": "/rank", "stages": dict(stages)}
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        begin = perf_counter()
        for _ in range(FRAMED):
            metrics.count("/rank", 200, 0.001, stages)
            logs.write("INFO", "POST /rank 200", status=200, ms=1.0, **fields)
        return (perf_counter() - begin) / FRAMED * 1e3


def _worked(supervisor: int) -> list[float]:
    """Return the seconds of a processor that each process of a server has worked."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    found = []
    for child in children:
        if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes():
            times = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]
            found.append(sum(map(int, times)) / os.sysconf("SC_CLK_TCK"))
    return found


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
