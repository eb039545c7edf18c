"""How much memory a process needs that ranks, against the bytes that it has to look at.

Peak resident memory of fresh processes (VmHWM), less that of one that only imports numpy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import google_wiki
from benchmarks.built.peers import FIELD, asked, bm25s_folder, opened, tantivy_folder
from benchmarks.harness.place import Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import table
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25
from ranklet.runtime.rankers.opening import open_ranker

PACKAGES = ("bm25s", "tantivy")
ROUNDS = 3
COUNTS = (1, 500)  # queries that a process answers
MOST = 1.5  # times the bytes touched, the design's goal
UNITS = (1, 4096, 65536)  # bytes; pages; what the kernel maps around a page

NUMPY = "import numpy\n"
RANK = """
from ranklet import runtime
bundle = runtime.load(path)
for text in texts:
    bundle.rank(text, k=10)
"""
RANK_IDS = RANK.replace("rank(text", "rank_ids(text")
BM25S = """
sys.modules["numba"] = None
import bm25s
index = bm25s.BM25.load(path, mmap=mmap)
for lemmas in queries:
    index.retrieve([lemmas], k=10, show_progress=False, n_threads=0)
"""
TANTIVY = """
from tantivy import Index, Occur, Query
index = Index.open(path)
searcher = index.searcher()
for lemmas in queries:
    terms = [(Occur.Should, Query.term_query(index.schema, "body", x, "freq")) for x in lemmas]
    hits = searcher.search(Query.boolean_query(terms), 10, count=False).hits
    searcher.fast_field_values("number", [address for _, address in hits])
"""


def run(place: Place) -> str:
    """Measure processes of one query and of 500."""
    folder, peer = google_wiki(place), str(bm25s_folder(place))
    bundle = opened(folder)
    queries = asked(place, bundle)
    base = _measured(NUMPY, {})
    rows: list[list[object]] = []
    verdicts = []
    for count in COUNTS:
        texts, lemmas = zip(*queries[:count], strict=True)
        ours = {"path": str(folder), "texts": texts}
        given = {"path": peer, "queries": lemmas}
        found = {
            name: _measured(NUMPY + snippet, values) - base
            for name, snippet, values in (
                ("ranklet `rank`: ids, titles, texts", RANK, ours),
                ("ranklet `rank_ids`", RANK_IDS, ours),
                ("bm25s, mmap: numbers", BM25S, {**given, "mmap": True}),
                ("bm25s: numbers", BM25S, {**given, "mmap": False}),
                ("tantivy: numbers", TANTIVY, {**given, "path": str(tantivy_folder(place))}),
            )
        }
        rows += [[name, count, *map(_mb, sizes)] for name, sizes in found.items()]
        touched = _touched(bundle, texts)
        byte, page, window = (_size(touched, unit) for unit in UNITS)
        peak, private, _ = next(iter(found.values()))
        arrays = sum(len(mask) for mask in touched)
        verdict, whole = ("met" if peak < MOST * size else "**missed**" for size in (byte, arrays))
        verdicts.append(
            f"- {count} {'query' if count == 1 else 'queries'}: {_mb(byte)} MB to look at, in "
            f"pages of 4 KB {_mb(page)} MB, in windows of 64 KB {_mb(window)} MB. Goal: `rank`'s "
            f"peak < {MOST} times the bytes: **{peak / byte:.2f}**, {verdict}; its private part "
            f"is {private / byte:.2f} times the bytes, its peak {peak / window:.2f} times the "
            f"windows. Against the arrays that were touched, whole ({_mb(arrays)} MB): "
            f"**{peak / arrays:.2f}**, {whole}."
        )
    head = ["beyond numpy, MB", "queries", "peak", "private", "mapped files"]
    size = sum(entry.bytes for entry in bundle.manifest.files.values())
    return f"""
google-wiki, BM25 over lemmas, k = 10; the bundle has {_mb(size)} MB. A process that only imports \
numpy peaks at {_mb(base[0])} MB, which every peak is less; medians of {ROUNDS} processes. \
*Private* and *mapped files* are the parts at the end.

{table(head, rows)}

{chr(10).join(verdicts)}

*To look at* is what the answers need, or what opening reads whole to check it: the accumulator \
(4 bytes a document); the offsets of all rows (opening proves that they ascend); the postings of \
the different terms that were asked for (8 bytes each; MaxScore skips some); ids, titles and texts \
of the hits. Not in it: Python code, and the pages that looking up words touches. A mapped file \
counts as resident in the units in which the kernel maps it: it maps what the page cache has \
around the page that was asked for, 64 KB by default, and more where the cache holds large folios. \
Such pages belong to the page cache, are shared by all processes and can be taken back at any \
time; only the private part is the process's own. bm25s without mmap and its vocabulary are \
private.
"""


def _measured(snippet: str, values: dict[str, Any]) -> NDArray[np.float64]:
    """Return peak, private and mapped resident memory, medians, (3,) bytes."""
    found = [fresh(snippet, values) for _ in range(ROUNDS)]
    kinds = ("VmHWM", "RssAnon", "RssFile")
    return np.median([[float(each[kind]) for kind in kinds] for each in found], axis=0)


def _touched(bundle: BundleFiles, texts: tuple[str, ...]) -> list[NDArray[np.bool_]]:
    """Return for every array which of its bytes the answers to some queries need."""
    ranker, documents = open_ranker(bundle, "bm25"), bundle.documents
    if not isinstance(ranker, BM25) or documents is None:
        raise TypeError(f"{bundle.path} has no BM25 over a collection")
    index = ranker.index
    offsets = [entry.bytes for name, entry in bundle.manifest.files.items() if "offsets" in name]
    whole = [np.ones(size, np.bool_) for size in (4 * len(documents), *offsets)]
    postings = np.zeros(4 * len(index.documents), np.bool_)
    stored = (documents.ids, documents.titles, documents.texts)
    read = [np.zeros(len(strings.data), np.bool_) for strings in stored]
    for text in texts:
        query = QueryContext(text, bundle.analyzer.begin())
        for term in query.tokens(FIELD).tolist():
            if term < len(index.offsets) - 1:
                postings[4 * index.offsets[term] : 4 * index.offsets[term + 1]] = True
        for hit in ranker.retrieve(query, 10)[0].tolist():
            for strings, mask in zip(stored, read, strict=True):
                mask[strings.offsets[hit] : strings.offsets[hit + 1]] = True
    return [*whole, postings, postings, *read]  # document numbers, and impacts


def _size(touched: list[NDArray[np.bool_]], unit: int) -> int:
    """Return the bytes of all units of which a byte is needed."""
    return sum(
        unit * int(np.logical_or.reduceat(mask, np.arange(0, len(mask), unit)).sum())
        for mask in touched
    )


def _mb(size: float) -> str:
    return f"{size / 1e6:.1f}"
