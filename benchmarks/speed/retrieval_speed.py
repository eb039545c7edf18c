"""How fast BM25 retrieves, one query at a time on one thread, beside bm25s and tantivy.

All search the same tokens of the same 189,814 documents. Contenders take turns.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import google_wiki
from benchmarks.built.peers import FIELD, asked, bm25s_folder, opened, tantivy_folder
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.harness.timing import spread, take_turns
from ranklet import runtime
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25
from ranklet.runtime.rankers.opening import open_ranker

PACKAGES = ("bm25s", "numba", "tantivy")
ROUNDS = 3
DEPTHS = (1000, 10)
EIGHT_BITS = 0.01  # of a score: its impacts are rounded
OURS = "ranklet `ImpactIndex.retrieve`"
TANTIVY, BARE = "tantivy, search + numbers", "tantivy, bare search"


class Asked(NamedTuple):
    """A query in the form that each contender takes."""

    text: str
    terms: NDArray[np.int32]  # ours, without repeats
    counts: NDArray[np.float32]
    ids: list[int]  # bm25s's
    query: Any  # tantivy's


def run(place: Place) -> str:
    """Time all contenders."""
    folder = google_wiki(place)
    bundle = opened(folder)
    ranker = open_ranker(bundle, "bm25")
    if not isinstance(ranker, BM25):
        raise TypeError(f"bm25 is {ranker!r}")
    loaded = runtime.load(folder)
    numpy_index, numba_index = _bm25s(bm25s_folder(place))
    schema, searcher = _tantivy(tantivy_folder(place))
    queries = []
    for text, lemmas in asked(place, bundle):
        tokens = QueryContext(text, bundle.analyzer.begin()).tokens(FIELD)
        terms, counts = np.unique(tokens, return_counts=True)
        ids = [numpy_index.vocab_dict[lemma] for lemma in lemmas]
        wanted = _tantivy_query(schema, lemmas)
        queries.append(Asked(text, terms, counts.astype(np.float32), ids, wanted))
    parts = [_introduction(len(queries), len(loaded))]
    for k in DEPTHS:
        _same_scores(ranker, numpy_index, queries, k)
        ms = take_turns(
            {
                **_same_work(ranker, numpy_index, numba_index, searcher, k),
                **_whole_calls(loaded, k),
            },
            queries,
            ROUNDS,
        )
        parts.append(_table(ms, k))
    return "\n".join([*parts, _notes(ranker, searcher, queries)])


def _bm25s(folder: Path) -> tuple[Any, Any]:
    import bm25s

    return bm25s.BM25.load(folder), bm25s.BM25.load(folder, backend="numba")


def _retrieve(index: Any, query: Asked, k: int) -> Any:
    return index.retrieve([query.ids], k=k, show_progress=False, n_threads=0)


def _tantivy(folder: Path) -> tuple[Any, Any]:
    import tantivy

    index = tantivy.Index.open(str(folder))
    return index.schema, index.searcher()


def _tantivy_query(schema: Any, lemmas: list[str]) -> Any:
    from tantivy import Occur, Query

    terms = [Query.term_query(schema, "body", lemma, "freq") for lemma in lemmas]
    return Query.boolean_query([(Occur.Should, term) for term in terms])


def _numbers(searcher: Any, query: Asked, k: int) -> Any:
    hits = searcher.search(query.query, k, count=False).hits
    return searcher.fast_field_values("number", [address for _, address in hits])


def _same_scores(ranker: BM25, index: Any, queries: list[Asked], k: int) -> None:
    """Raise ValueError unless we and bm25s find the same scores, as far as our bits go.

    Only equal work is compared.
    """
    for query in queries[::10]:
        _, scores = ranker.index.retrieve(query.terms, query.counts, k)
        theirs = _retrieve(index, query, k).scores[0][: len(scores)]
        if np.abs(scores / theirs - 1).max(initial=0) > EIGHT_BITS:
            raise ValueError(f"other scores than bm25s for {query.text!r}")


def _same_work(
    ranker: BM25, numpy_index: Any, numba_index: Any, searcher: Any, k: int
) -> dict[str, Callable[[Asked], object]]:
    """Return the searches that begin with analysed queries and end with numbers and scores."""
    return {
        OURS: lambda q: ranker.index.retrieve(q.terms, q.counts, k),
        "bm25s, numpy": lambda q: _retrieve(numpy_index, q, k),
        "bm25s, numba": lambda q: _retrieve(numba_index, q, k),
        TANTIVY: lambda q: _numbers(searcher, q, k),
        BARE: lambda q: searcher.search(q.query, k, count=False),
    }


def _whole_calls(loaded: runtime.Bundle, k: int) -> dict[str, Callable[[Asked], object]]:
    recipe = [{"stage": "retrieve", "ranker": "bm25", "k": k}]
    return {
        "ranklet `rank_ids`, from text to ids": lambda q: loaded.rank_ids(
            q.text, k=k, pipeline=recipe
        ),
        "ranklet `rank`, from text to texts": lambda q: loaded.rank(q.text, k=k, pipeline=recipe),
    }


def _table(ms: dict[str, NDArray[np.float64]], k: int) -> str:
    ours = ms[OURS]
    rows = []
    for name, times in ms.items():
        ratios = [np.median(times) / np.median(ours), times.mean() / ours.mean()]
        rows.append([name, *spread(times), *(f"{ratio:.2f}" for ratio in ratios)])
    head = [f"top {k}", "p50 ms", "mean", "p99", "p50 ÷ ours", "mean ÷ ours"]
    ahead = [
        "; ".join(name for name, times in ms.items() if reduce(times) < reduce(ours)) or "nobody"
        for reduce in (np.median, np.mean)
    ]
    faster = [np.mean(ms[name] < ours) for name in (TANTIVY, BARE)]
    return f"""
{table(head, rows)}

Ahead of us in p50: {ahead[0]}; in the mean: {ahead[1]}. tantivy is the faster for \
{faster[0]:.0%} of the queries with numbers read, for {faster[1]:.0%} by its bare search.
"""


def _introduction(queries: int, documents: int) -> str:
    return f"""google-wiki, {documents:,} documents, {queries} dev queries over {FIELD}; one \
thread; each figure is a query's median of {ROUNDS} rounds, then p50, mean and p99 over queries."""


def _notes(ranker: BM25, searcher: Any, queries: list[Asked]) -> str:
    shared = []
    for query in queries:
        numbers, _ = ranker.index.retrieve(query.terms, query.counts, 10)
        shared.append(len(set(numbers.tolist()) & set(_numbers(searcher, query, 10))) / 10)
    terms = np.mean([len(query.terms) for query in queries])
    return f"""How it was kept fair:

- Analysis is not timed: ours and bm25s get token ids, tantivy a finished query object (an OR of \
{terms:.1f} terms on average; it still looks up each term in its dictionary). All run warm, from \
memory or from mapped files in the page cache. Turns change after 25 queries: if they changed \
after each, whoever follows the numpy backend, which sweeps arrays of all documents, would run cold.
- bm25s: `n_threads=0`, `show_progress=False`, sorted results, no corpus; it returns arrays of \
document numbers and scores, as we do. It has our k1 and b, and finds the same scores within \
{EIGHT_BITS:.0%}, because ours have 8 bits (checked on every tenth query). Its call takes lists of \
queries; here a list of one, so its fixed cost per \
call counts in full.
- tantivy: one segment, frequencies without positions, and `count=False`, without which it would \
visit every match to count it and could not skip (block-max WAND). It has fixed k1 = 1.2, b = 0.75 \
and rounded lengths, so it ranks a little differently: {np.mean(shared):.0%} of our top 10 are in \
its top 10. *Bare search* leaves the hits inside Rust; *search + numbers* reads each hit and its \
document number (a fast field), which is what ours and bm25s return.
- `rank_ids` and `rank` are our whole calls: text analysis, retrieval, external ids, and for \
`rank` titles and texts of all k hits.
"""
