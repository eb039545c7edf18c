"""How fast every kind of index searches under a filter, next to the same search without one.

A filter is a mask of allowed documents. Masks, indexes and queries are random, because time depends
on their sizes. Every answer under a filter is compared with the brute-force ranking of the allowed
documents before anything is timed.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.hnsw import HNSWIndex, build
from ranklet.runtime.dense.maxsim import Quantised, TokenStore, quantise_query
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.lexical.impact_index import ImpactIndex, largest_impacts

PACKAGES = ("hnswlib",)
K = 10
SHARES = (0.5, 0.05, 0.005, 0.0001)  # of the documents that a filter allows
DIMENSION, CENTRES, SPREAD = 256, 500, 0.6  # of vectors, which lie around centres
TOKENS, QUERY_TOKENS, TOKEN_DIMENSION = 75, 12, 64  # of late interaction
LEAST_RECALL = 0.9  # of HNSW's answers under a filter, or something is broken
CODE = ("benchmarks/speed/filter_speed.py", "runtime/dense/hnsw.py")


class Sizes(NamedTuple):
    """How large the indexes are, in documents, and how many queries are timed."""

    impacts: int = 200_000
    vectors: int = 100_000
    linked: int = 30_000  # vectors of the graph, which takes minutes to build
    late: int = 5_000
    queries: int = 50
    rounds: int = 3


class Index(NamedTuple):
    """An index, and how its queries are searched."""

    name: str
    documents: int
    search: Callable[[int, int, Mask | None], Scored]  # takes a query's number, k and a mask
    exact: Callable[[int, int, Mask | None], Scored]  # the same where every answer is exact


WHOLE = Sizes()


def run(place: Place, sizes: Sizes = WHOLE) -> str:
    """Time all indexes with and without filters.

    Raises:
        RuntimeError: an answer is not the ranking of the allowed documents.
    """
    with one_thread():
        rows = [_row(index, sizes) for index in _indexes(place, sizes)]
    head = ["index", "documents", "no filter, ms", *(f"{share:.2%}, ÷" for share in SHARES)]
    return f"""
The top {K} for {sizes.queries} random queries, one thread, one after another. Each has a random \
mask of its own, which is there before the clock starts; a column names the share of the documents \
that it allows. The columns are the p50 under a filter divided by the p50 without one in the same \
run, so below 1 a filter makes a search faster. Recall is HNSW's share of the exact answer.

{table([*head, "least recall"], rows)}
"""


def _row(index: Index, sizes: Sizes) -> list[str]:
    rng = np.random.default_rng(sizes.queries)
    masks = {share: _masks(rng, index.documents, share, sizes.queries) for share in SHARES}
    recall = min(_recall(index, of_share) for of_share in masks.values())
    if recall < (LEAST_RECALL if index.exact != index.search else 1):
        raise RuntimeError(f"{index.name}: only {recall:.1%} of an answer under a filter is right")
    contenders: dict[str, Callable[[int], object]] = {
        f"{share}": partial(_filtered, index, of_share) for share, of_share in masks.items()
    }
    contenders["none"] = lambda query: index.search(query, K, None)
    took = take_turns(contenders, range(sizes.queries), sizes.rounds)
    ms = {name: float(np.median(times)) for name, times in took.items()}
    ratios = [f"{ms[f'{share}'] / ms['none']:.2g}" for share in SHARES]
    return [index.name, f"{index.documents:,}", f"{ms['none']:.3f}", *ratios, f"{recall:.3f}"]


def _filtered(index: Index, masks: list[Mask], query: int) -> Scored:
    return index.search(query, K, masks[query])


def _masks(rng: np.random.Generator, documents: int, share: float, count: int) -> list[Mask]:
    """Return random masks that allow a share of the documents, and one of them at least."""
    masks = []
    for _ in range(count):
        mask = np.zeros(documents, bool)
        mask[rng.permutation(documents)[: max(1, round(share * documents))]] = True
        masks.append(mask)
    return masks


def _recall(index: Index, masks: list[Mask]) -> float:
    """Return how many of the best allowed documents are found.

    Every tenth query is searched. The ranking of all documents without a mask says what is right.
    """
    found = wanted = 0
    for query in range(0, len(masks), 10):
        whole, _ = index.exact(query, index.documents, None)
        best = whole[masks[query][whole]][:K].tolist()
        answer, _ = index.search(query, K, masks[query])
        if len(answer) != len(best):
            raise RuntimeError(f"{index.name}: {len(answer)} documents came, {len(best)} match")
        found += len(set(best) & set(answer.tolist()))
        wanted += len(best)
    return found / wanted if wanted else 1.0


def _indexes(place: Place, sizes: Sizes) -> list[Index]:
    few = partial(_impacts, 2_000, 5, 0.3)  # frequent and rare words, as in questions
    many = partial(_impacts, 3_000, 30, 0.05)  # expanded by terms of medium frequency
    return [
        few("impacts, 5 terms (BM25)", sizes),
        many("impacts, 30 terms (SPLADE)", sizes),
        _exact(sizes),
        _linked(place, sizes),
        _late(sizes),
    ]


def _impacts(terms: int, length: int, most: float, name: str, sizes: Sizes) -> Index:
    """Return an index whose terms have postings by Zipf's law, short lists with large impacts.

    Args:
        terms: of the vocabulary.
        length: terms of a query.
        most: share of the documents that have the most frequent term.
        name: of the index.
        sizes: of it.
    """
    rng = np.random.default_rng(terms)
    lists, impacts = [], []
    for rank in range(terms):
        count = max(1, round(most * sizes.impacts / (1 + rank / 3)))
        documents = np.unique(rng.integers(sizes.impacts, size=count)).astype(np.uint32)
        weight = np.log(1 + sizes.impacts / len(documents))
        lists.append(documents)
        impacts.append(weight * (0.5 + 0.5 * rng.random(len(documents), np.float32)))
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    stored = np.concatenate(impacts).astype(np.float32)
    largest = largest_impacts(offsets, stored)
    index = ImpactIndex(offsets, np.concatenate(lists), stored, largest, sizes.impacts)
    queries = [
        np.unique((terms ** rng.random(length)).astype(np.int32) - 1) for _ in range(sizes.queries)
    ]
    weights = [0.5 + rng.random(len(query), np.float32) for query in queries]

    def search(query: int, k: int, mask: Mask | None) -> Scored:
        return index.retrieve(queries[query], weights[query], k, mask)

    return Index(name, sizes.impacts, search, search)


def _exact(sizes: Sizes) -> Index:
    vectors, queries = _vectors(sizes.vectors, sizes.queries)
    index = ExactIndex(StoredVectors(vectors))

    def search(query: int, k: int, mask: Mask | None) -> Scored:
        return index.search(queries[query], k, mask)

    return Index(f"exact, {DIMENSION} dimensions", sizes.vectors, search, search)


def _linked(place: Place, sizes: Sizes) -> Index:
    vectors, queries = _vectors(sizes.linked, sizes.queries)
    name = f"filter-{sizes.linked}.hnsw"
    data = place.keep(name, lambda path: build(vectors, path), CODE).read_bytes()
    stored = StoredVectors(vectors)
    index, exact = HNSWIndex(memoryview(data), stored), ExactIndex(stored)

    def search(query: int, k: int, mask: Mask | None) -> Scored:
        return index.search(queries[query], k, mask)

    def exactly(query: int, k: int, mask: Mask | None) -> Scored:
        return exact.search(queries[query], k, mask)

    return Index(f"HNSW, {DIMENSION} dimensions", sizes.linked, search, exactly)


def _vectors(documents: int, queries: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return unit vectors of documents and of queries around common centres."""
    rng = np.random.default_rng(documents)
    centres = rng.standard_normal((CENTRES, DIMENSION), np.float32)
    made = centres[rng.integers(CENTRES, size=documents + queries)]
    made += SPREAD * rng.standard_normal(made.shape, np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made[queries:], made[:queries]


def _late(sizes: Sizes) -> Index:
    rng = np.random.default_rng(sizes.late)
    values = rng.integers(-127, 128, (sizes.late * TOKENS, TOKEN_DIMENSION), np.int8)
    scales = np.full(len(values), 1 / 1000, np.float32)
    offsets = np.arange(sizes.late + 1, dtype=np.int64) * TOKENS
    store = TokenStore(offsets, Quantised(values, scales))
    shape = (QUERY_TOKENS, TOKEN_DIMENSION)
    queries = [
        quantise_query(rng.standard_normal(shape, np.float32), "int8") for _ in range(sizes.queries)
    ]

    def search(query: int, k: int, mask: Mask | None) -> Scored:
        numbers = np.arange(len(store)) if mask is None else np.flatnonzero(mask)
        scores = store.scores(queries[query], numbers)
        best = top_k(scores, k)
        return numbers[best].astype(np.uint32), scores[best]

    return Index(f"MaxSim, {TOKENS} tokens per document", sizes.late, search, search)
