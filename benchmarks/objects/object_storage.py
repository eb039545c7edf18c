"""Bundles on object storage: requests, bytes and time of queries, next to downloading the bundle.

A million invented passages (benchmarks/objects/synthetic.py) become a bundle with BM25. A plain
HTTP server on this machine delays each answer by the round trip to a storage. Each first answer is
that of a fresh process.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.growth.sizes import RANKLET
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.objects import delayed_server, synthetic

PACKAGES = ()
PASSAGES = 1_000_000
DELAYS = (0, 30, 60)  # ms that are added to each answer
ROUNDS, QUERIES = 5, 50
MOST = 316  # ms, a cold full-text query on a million documents, as turbopuffer states it
CODE = (
    "corpus",
    "training",
    "export",
    "runtime/text",
    "runtime/lexical",
    "benchmarks/objects/synthetic.py",
)

# Prints the time to the first answer, then one line per further query: ms, requests, bytes.
ASK = """
import json, sys
from time import perf_counter
from ranklet import runtime
import ranklet.runtime.object_storage.remote_zip  # as in a running server
import ranklet.runtime.rankers.bm25
address, cache, queries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
begin = perf_counter()
bundle = runtime.Bundle(address, cache=cache)
opened = perf_counter() - begin
def measured(query):
    before, begin = counts(), perf_counter()
    hits = bundle.rank(query, k=10)
    took = (perf_counter() - begin) * 1e3
    assert len(hits) and hits[0].text
    return [took, *(now - then for now, then in zip(counts(), before))]
def counts():
    store = bundle.files.store
    return (store.requests, store.bytes_read) if store else (0, 0)
opening = counts()
first = measured(queries[0])
print(json.dumps({
    "first": opened * 1e3 + first[0], "opened": opened * 1e3, "opening": opening,
    "new": [first, *map(measured, queries[1:])], "again": list(map(measured, queries)),
}))
"""
# Downloads the object in one piece, as curl does, and answers from it.
DOWNLOAD = """
import json, shutil, sys, urllib.request
from time import perf_counter
from ranklet import runtime
import ranklet.runtime.rankers.bm25
address, target, queries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
begin = perf_counter()
with urllib.request.urlopen(address) as answer, open(target, "wb") as file:
    shutil.copyfileobj(answer, file, 1 << 20)
bundle = runtime.Bundle(target)
bundle.rank(queries[0], k=10)
first = (perf_counter() - begin) * 1e3
times = []
for query in queries:
    begin = perf_counter()
    bundle.rank(query, k=10)
    times.append([(perf_counter() - begin) * 1e3, 0, 0])
print(json.dumps({"first": first, "again": times}))
"""


def run(place: Place) -> str:
    """Build the bundle unless it is there, and measure it with each delay."""
    bundle = place.keep(f"objects.{PASSAGES}.zip", lambda path: build(path, PASSAGES), CODE)
    size = bundle.stat().st_size
    folder = place.work / "objects.cache"
    with served(bundle) as address:
        found = {delay: measured(f"{address}/{delay}/b.zip", folder) for delay in DELAYS}
    return report(found, PASSAGES, size)


def build(path: Path, count: int) -> None:
    """Write the bundle of so many passages."""
    file = path.with_suffix(".csv")
    synthetic.write(file, count)
    subprocess.run([sys.executable, "-c", RANKLET, str(file), str(path)], check=True)
    file.unlink()


@contextmanager
def served(bundle: Path) -> Iterator[str]:
    """Serve a file from a process of its own; yields the address without a path."""
    command = [sys.executable, str(Path(delayed_server.__file__)), str(bundle)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = server.stdout.readline().strip() if server.stdout else ""
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def measured(
    address: str, folder: Path, rounds: int = ROUNDS, count: int = QUERIES
) -> dict[str, Any]:
    """Return what fresh processes found with an empty cache, a full one, and after a download."""
    queries = synthetic.queries(rounds + count)
    cold = []
    for each in range(rounds):
        shutil.rmtree(folder, ignore_errors=True)
        own = [queries[each], *queries[rounds:]] if each == rounds - 1 else [queries[each]]
        cold.append(_asked(ASK, address, folder, own))
    cached = [_asked(ASK, address, folder, queries[-1:]) for _ in range(rounds)]
    held = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    loaded = _asked(DOWNLOAD, address, folder / "downloaded.zip", queries[rounds:])
    shutil.rmtree(folder, ignore_errors=True)
    return {"cold": cold, "cached": cached, "downloaded": loaded, "held": held}


def _asked(code: str, address: str, target: Path, queries: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", code, address, str(target), json.dumps(queries)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def report(found: dict[int, dict[str, Any]], passages: int, size: int) -> str:
    """Return the section of RESULTS.md.

    Args:
        found: what `measured` returned, by the delay in ms.
        passages: in the bundle.
        size: of the bundle, in bytes.
    """
    rows, per_query, firsts = [], [], {}
    for delay, each in found.items():
        cold, new = each["cold"], each["cold"][-1]["new"][1:]
        firsts[delay] = median(one["first"] for one in cold)
        requests, megabytes = cold[0]["opening"]
        rows.append(
            [
                f"{delay} ms", f"{firsts[delay]:.0f}", f"{median(o['opened'] for o in cold):.0f}",
                requests, f"{megabytes / 1e6:.1f}",
                f"{median(one['first'] for one in each['cached']):.0f}",
                f"{each['downloaded']['first']:.0f}",
            ]
        )  # fmt: skip
        again = each["cold"][-1]["again"]
        per_query.append(
            [
                f"{delay} ms", f"{_median(new, 0):.0f}", f"{_median(new, 1):.0f}",
                f"{_median(new, 2) / 1e6:.2f}", f"{_median(again, 0):.1f}",
                f"{sum(one[1] for one in again)}", f"{_median(each['downloaded']['again'], 0):.1f}",
                f"{each['held'] / 1e6:.0f}",
            ]
        )  # fmt: skip
    head = ["added delay", "first answer", "of it, opening", "requests of opening", "MB of opening"]
    head += ["first answer, cache filled", "first answer after a download"]
    queries = ["added delay", "new query, ms", "requests", "MB", "query again, ms"]
    queries += ["requests in all", "downloaded bundle, ms", "MB in the cache at the end"]
    met = "\n".join(
        goal(f"the first answer with {delay} ms, an empty cache,", first, MOST)
        for delay, first in firsts.items()
    )
    met += "\n" + "\n".join(
        goal(f"a new query with {delay} ms, the bundle open,", float(row[1]), MOST)
        for delay, row in zip(found, per_query, strict=True)
    )
    return f"""
{passages:,} passages, a bundle of {size / 1e9:.2f} GB with BM25, read over HTTP from this \
machine. The server waits before each answer. The network is not limited otherwise.

Milliseconds from `load` to the first answer of fresh processes, after their imports; median of \
{len(found[next(iter(found))]["cold"])}:

{table(head, rows)}

Medians of {len(found[next(iter(found))]["cold"][-1]["new"]) - 1} queries of 3 to 6 words with ten \
hits each, in one process. Each query is new first, and then comes again:

{table(queries, per_query)}

{met}
- {MOST} ms is what turbopuffer states for a cold full-text query on a million documents in object \
storage.
"""


def _median(rows: list[list[float]], column: int) -> float:
    return median(row[column] for row in rows)
