"""The HTTP server with an encoder on the GPU, under the load of some clients at a time."""

import asyncio
from collections.abc import Iterator
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.gpu.checkpoints import HELD_OUT, LEARN, imported_dense
from benchmarks.gpu.material import texts
from benchmarks.gpu.setting import Result, Setting, attempts
from benchmarks.speed.http_load import load, server
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint

HEAD = ("clients", "requests a second", "p50, ms", "p99, ms", "errors")
ABOUT = """
- BM25 and MiniLM (fp16) in one pipeline over documentations of Python's standard library; 10 hits \
with their texts. The clients are in Python, too, in one process.
"""
WARM_UP = 20  # requests that are not counted


def rows(setting: Setting) -> Iterator[Result]:
    """Yield a row per number of clients."""
    collection = texts(setting)
    exported, bundle = (setting.work / f"gpu.hybrid.{name}" for name in ("rankers", "ranklet"))
    rankers = {
        "bm25": Checkpoint("bm25", BM25Settings("lemmas")), "dense": imported_dense(setting)
    }  # fmt: skip
    options = ExportOptions(variants=("fp16",), max_ndcg_loss=1.0)
    export_bundle(rankers, exported, options, overwrite=True)
    index_bundle(exported, collection, bundle, overwrite=True)
    queries = [query.text for split in (LEARN, HELD_OUT) for query in collection.queries(split)]
    with server(bundle, {"RANKLET_DEVICE": setting.device}) as (_, port):
        asyncio.run(load(port, queries, 1, requests=WARM_UP))
        counts = [(str(count), count) for count in setting.clients]
        yield from attempts(setting, counts, partial(_loaded, setting, port, queries))


def _loaded(
    setting: Setting, port: int, queries: list[str], label: str, clients: int
) -> Iterator[Result]:
    begin = perf_counter()
    times, wrong = asyncio.run(load(port, queries, clients, seconds=setting.client_seconds))
    yield row(label, times, wrong, perf_counter() - begin)


def row(label: str, times: list[float], wrong: int, took: float) -> Result:
    """Return the row of some requests, of which some were not answered with 200.

    Args:
        label: the number of clients.
        times: seconds of each request.
        wrong: how many were not answered with 200.
        took: seconds of all together.
    """
    ms = np.array(times) * 1e3
    middle, most = np.percentile(ms, [50, 99])
    return Result(
        (label, f"{len(ms) / took:,.0f}", f"{middle:.2f}", f"{most:.2f}", str(wrong)),
        f"{label} clients: {wrong} of {len(times)} requests failed" if wrong else "",
    )
