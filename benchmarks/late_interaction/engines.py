"""Engines of late interaction: how a fresh process opens each, indexes vectors and answers queries.

Every engine ranks the same documents by the same vectors. Ours begins with a text and encodes it.
The others get the query's vectors, because they have no encoder.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.contest import environment
from benchmarks.harness.place import Place
from benchmarks.harness.processes import ONE_THREAD, fresh
from ranklet.runtime.dense.maxsim import TokenStore

PEERS = ("torch==2.11.0", "fast-plaid==1.7.0.2110", "xtr-warp-rs==2.1.0.2110")
# Documents that the peers learn their centroids from, at most; of 10,000 they take all by default.
# Indexing is long where a processor multiplies half precision slowly, because the peers compare all
# vectors with their centroids in it: here at 4 GFLOP/s of a core that has 35 in float32.
SAMPLED = 10_000
WARMING = 10  # queries that are answered before the clock starts
BUILT = ".seconds"  # suffix of a file next to an index
MOST_SECONDS = 30.0  # of a process that is timed; what is slow answers fewer queries

OURS = """
import json
from ranklet import runtime
with open(texts) as opened:
    items = json.load(opened)
bundle = runtime.load(path, device="cpu")
number = {name: at for at, name in enumerate(json.load(open(ids)))}
def search(text, k):
    return [number[name] for name, _ in bundle.rank_ids(text, k=k, pipeline=pipeline)]
"""
ENCODER = """
import json
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder
from ranklet.runtime.bundles.files import BundleFiles
with open(texts) as opened:
    items = json.load(opened)
encoder = ColBERTEncoder.open(BundleFiles(path), "colbert")
def search(text, k):
    encoder.encode_query(text)
    return []
"""
THEIR_QUERIES = """
import numpy as np, torch
torch.set_num_threads(1)
items = np.split(np.load(vectors), np.load(ends)[:-1])
items = [torch.from_numpy(each)[None] for each in items]
"""
PLAID = (
    THEIR_QUERIES
    + """
from fast_plaid.search import FastPlaid
index = FastPlaid(index=path, device="cpu")
def search(item, k):
    hits = index.search(item, top_k=k, show_progress=False, n_processes=1, **options)[0]
    return [number for number, _ in hits]
"""
)
WARP = (
    THEIR_QUERIES
    + """
from xtr_warp import XTRWarp
index = XTRWarp(path, device="cpu")
index.load("cpu")
def search(item, k):
    hits = index.search(item, top_k=k, num_threads=1, show_progress=False, **options)[0]
    return [number for number, _ in hits]
"""
)
ANSWER = """
for item in items[:warming]:
    search(item, 10)
took = []
for item in items[:timed]:
    if sum(took) > seconds * 1e3:
        break
    begin = time.perf_counter()
    search(item, 10)
    took.append((time.perf_counter() - begin) * 1e3)
answer["ms"] = took
answer["hits"] = {str(k): [search(item, k) for item in items] for k in depths}
"""
DOCUMENTS = """
import numpy as np, torch
torch.set_num_threads(threads)
ends = np.load(document_ends)
whole = torch.from_numpy(np.load(documents))
documents = list(torch.split(whole, np.diff(ends, prepend=0).tolist()))
"""
BUILD_PLAID = (
    DOCUMENTS
    + """
from fast_plaid.search import FastPlaid
index = FastPlaid(index=path, device="cpu")
index.create(documents, n_samples_kmeans=min(sampled, len(documents)))
"""
)
BUILD_WARP = (
    DOCUMENTS
    + """
from xtr_warp import XTRWarp
documents = [each.float() for each in documents]
index = XTRWarp(path, device="cpu")
index.create(documents, "cpu", n_samples_kmeans=min(sampled, len(documents)), show_progress=False)
"""
)


@dataclass(frozen=True)
class Engine:
    """How one contender answers.

    Attributes:
        snippet: opens it and defines `items` and `search`.
        values: what the snippet needs.
        python: its interpreter.
        depths: numbers of documents that rankings are measured with; a ranking whose beginning
            depends on its length has several.
    """

    snippet: str
    values: Mapping[str, Any] = field(default_factory=dict)
    python: str = sys.executable
    depths: tuple[int, ...] = ()

    def run(self, *, timed: int = 0, depths: Sequence[int] = ()) -> dict[str, Any]:
        """Answer queries in a fresh process, on one thread.

        Args:
            timed: queries that are timed, fewer if they take longer than `MOST_SECONDS`.
            depths: numbers of documents that all queries are answered with once more.

        Returns:
            ``ms`` of each timed query, ``VmHWM`` and others as `fresh`, and ``hits``: by depth, the
            numbers of the documents that each query found.
        """
        given = {
            "timed": timed,
            "seconds": MOST_SECONDS,
            "warming": WARMING if timed else 0,
            "depths": list(depths),
            **self.values,
        }
        quiet = {**ONE_THREAD, "RANKLET_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
        return fresh(self.snippet + ANSWER, given, python=self.python, environment=quiet)


@dataclass(frozen=True)
class Vectors:
    """The files that the others read: token vectors end to end, and where each text's end.

    Attributes:
        folder: that has them.
    """

    folder: Path

    @classmethod
    def write(
        cls, folder: Path, store: TokenStore, queries: Sequence[NDArray[np.float32]]
    ) -> "Vectors":
        """Write the vectors of a store and of queries, each (tokens, dimension) float32."""
        folder.mkdir()
        values = store.vectors.values
        target = np.lib.format.open_memmap(folder / "documents.npy", "w+", np.float16, values.shape)
        for begin in range(0, len(values), 1 << 16):
            own = slice(begin, begin + (1 << 16))
            target[own] = values[own] * store.vectors.scales[own, None]
        target.flush()
        np.save(folder / "document_ends.npy", store.offsets[1:])
        np.save(folder / "queries.npy", np.concatenate(queries))
        np.save(folder / "query_ends.npy", np.cumsum([len(each) for each in queries]))
        return cls(folder)

    def documents(self) -> dict[str, str]:
        """Return what a snippet that indexes needs."""
        names = ("documents", "document_ends")
        return {name: str(self.folder / f"{name}.npy") for name in names}

    def queries(self) -> dict[str, str]:
        """Return what a snippet that searches needs."""
        return {
            "vectors": str(self.folder / "queries.npy"),
            "ends": str(self.folder / "query_ends.npy"),
        }


def peer_index(
    place: Place, name: str, snippet: str, vectors: Vectors, code: Sequence[str]
) -> Path:
    """Return the folder of a peer's index of some vectors, built on all cores and kept."""
    cores = os.cpu_count() or 1

    def build(path: Path) -> None:
        values = {"path": str(path), "sampled": SAMPLED, "threads": cores, **vectors.documents()}
        many = dict.fromkeys(ONE_THREAD, str(cores))
        begin = perf_counter()
        fresh(snippet, values, python=peers(place), environment=many)
        path.with_name(path.name + BUILT).write_text(json.dumps(perf_counter() - begin))

    return place.keep(name, build, tuple(code))


def seconds_to_index(index: Path) -> float:
    """Return how many seconds `peer_index` took."""
    return float(json.loads(index.with_name(index.name + BUILT).read_text()))


def peers(place: Place) -> str:
    """Return the Python of the environment that has fast-plaid and xtr-warp-rs."""
    return str(environment(place, "late-peers", PEERS))


def bytes_under(folder: Path) -> int:
    """Return how many bytes the files of a folder have."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
