"""10,000 random filters and queries for every way to retrieve, compared with brute force.

The rankers are those that serve, over synthetic documents. Only the encoding of a query is
replaced, so that no network runs. Vectors and impacts are small whole numbers, whose sums are exact
in any order. So brute force has the same scores to the bit, and many documents tie.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.metadata_rows import a_filter, allows, rows

from ranklet.export.build import build
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.dense import binary
from ranklet.runtime.dense.binary import BinaryIndex, binary_codes
from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.lexical.sparse_store import SparseStore
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.metadata.masks import evaluate
from ranklet.runtime.metadata.where import read_where
from ranklet.runtime.rankers.bm25 import BM25, BM25Settings, Terms
from ranklet.runtime.rankers.colbert.ranker import ColBERT
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.dense import Dense
from ranklet.runtime.rankers.epic import EPIC
from ranklet.runtime.rankers.splade import SPLADE

pytestmark = pytest.mark.slow

DOCUMENTS, FILTERS, QUERIES = 48, 10_000, 25
TERMS, DIMENSION = 40, 8

Mask = NDArray[np.bool_]
# Returns numbers and scores: of a query by its number, k, and the mask.
Search = Callable[[int, int, Mask], tuple[NDArray[Any], NDArray[Any]]]


class Filtered(NamedTuple):
    """A random filter on the documents, by the product and by plain Python."""

    mask: Mask
    allowed: Mask
    query: int
    k: int


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> list[Filtered]:
    random = Random(17)
    made = rows(random, DOCUMENTS)
    path: Path = Path(build(made, tmp_path_factory.mktemp("filtered") / "b.ranklet"))
    metadata, found = Metadata(BundleFiles(path)), []
    for _ in range(FILTERS):
        where = a_filter(random)
        mask = evaluate(read_where(where, metadata.types), metadata)
        allowed = np.array([allows(where, row) for row in made])
        found.append(Filtered(mask, allowed, random.randrange(QUERIES), random.choice([1, 5, 99])))
    some = [0 < np.count_nonzero(each.allowed) < DOCUMENTS for each in found]
    assert sum(some) > FILTERS / 4  # the filters are not trivial
    return found


def equals_brute_force(filtered: list[Filtered], search: Search, every: NDArray[Any]) -> None:
    """Compare a search with sorting the allowed documents.

    Args:
        filtered: the filters.
        search: of a ranker.
        every: the score of each document for each query, −∞ if it is never returned, (queries,
            documents) float32.
    """
    orders = [np.lexsort((np.arange(DOCUMENTS), -scores)) for scores in every]
    for mask, allowed, query, k in filtered:
        order = orders[query]
        wanted = order[allowed[order] & np.isfinite(every[query][order])][:k]
        numbers, scores = search(query, k, mask)
        assert numbers.tolist() == wanted.tolist()
        assert scores.tolist() == every[query][wanted].tolist()


def made(kind: type, **attributes: Any) -> Any:
    """Return a ranker with these attributes, without a bundle."""
    ranker: Any = object.__new__(kind)
    ranker.__dict__.update(attributes)
    return ranker


# ------------------------------------------------------------------------------ impacts


def impacts(seed: int) -> NDArray[np.float32]:
    """Return whole numbers from 0 to 9, most of them 0, (terms, documents) float32."""
    rng = np.random.default_rng(seed)
    shape = (TERMS, DOCUMENTS)
    return np.asarray(rng.integers(1, 10, shape) * (rng.random(shape) < 0.2), np.float32)


def index_of(values: NDArray[np.float32], dtype: Any) -> ImpactIndex:
    offsets = np.concatenate([[0], np.cumsum((values > 0).sum(1))]).astype(np.int64)
    documents = np.concatenate([np.flatnonzero(row) for row in values]).astype(np.uint32)
    return ImpactIndex(
        offsets, documents, values[values > 0].astype(dtype), values.max(1), DOCUMENTS
    )


def weights(seed: int) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Return the terms of each query and their weights, whole numbers from 1 to 4."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, QUERIES)
    terms = [np.sort(rng.choice(TERMS, size, replace=False)).astype(np.int32) for size in sizes]
    return [(each, rng.integers(1, 5, len(each)).astype(np.float32)) for each in terms]


def dot_products(values: NDArray[np.float32], queries: list[Any]) -> NDArray[np.float32]:
    """Return Σ weight · impact, −∞ where no term is shared, (queries, documents) float32."""
    found = np.stack([weights @ values[terms] for terms, weights in queries])
    return np.where(found > 0, found, -np.inf).astype(np.float32)


def test_bm25(filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch) -> None:
    values, queries = impacts(1), weights(1)
    ranker = BM25(BM25Settings(), index_of(values, np.float32), 1.0)
    monkeypatch.setattr(BM25, "_gained", lambda *_: None)
    monkeypatch.setattr(BM25, "_terms", lambda _, query: Terms(*queries[query], np.array([])))
    equals_brute_force(
        filtered,
        lambda query, k, mask: ranker.retrieve(query, k, mask)[:2],  # type: ignore[arg-type]
        dot_products(values, queries),
    )


def test_conformer_kernel(filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch) -> None:
    values, queries = impacts(2), weights(2)
    of_terms = SimpleNamespace(truncates=lambda _: False)
    ranker = made(ConformerKernel, index=index_of(values, "float16"), term_matching=of_terms)
    monkeypatch.setattr(ConformerKernel, "_known", lambda _, query: queries[query])
    equals_brute_force(
        filtered,
        lambda query, k, mask: ranker.retrieve(query, k, mask)[:2],
        dot_products(values, queries),
    )


@pytest.mark.parametrize(("kind", "dtype"), [(EPIC, "uint8"), (SPLADE, "float16")])
def test_learned_sparse(
    filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch, kind: type, dtype: str
) -> None:
    """With 8 bits, the index chooses the documents and the stored vectors score them."""
    values = impacts(3)
    queries = [SparseQuery(*each) for each in weights(3)]
    rows_of = [np.flatnonzero(column) for column in values.T]
    store = SparseStore(
        np.concatenate([[0], np.cumsum([len(each) for each in rows_of])]).astype(np.int64),
        np.concatenate(rows_of).astype(np.uint16),
        np.concatenate([values[terms, at] for at, terms in enumerate(rows_of)]).astype(np.float16),
    )
    settings = SimpleNamespace(impacts=dtype)
    ranker = made(kind, index=index_of(values, dtype), settings=settings, store=store)
    monkeypatch.setattr(kind, "_encoded", lambda _, query: (queries[query], False))
    equals_brute_force(
        filtered,
        lambda query, k, mask: ranker.retrieve(query, k, mask)[:2],
        dot_products(values, queries),
    )


# ------------------------------------------------------------------------------ vectors


def vectors(seed: int, count: int) -> NDArray[np.float32]:
    """Return whole numbers from −4 to 4, (count, dimension) float32."""
    return np.random.default_rng(seed).integers(-4, 5, (count, DIMENSION)).astype(np.float32)


def searching(monkeypatch: pytest.MonkeyPatch, index: Any, queries: NDArray[np.float32]) -> Search:
    """Return the search of a dense ranker over an index."""
    monkeypatch.setattr(Dense, "index", index)
    monkeypatch.setattr(Dense, "_encoded", lambda _, query: (queries[query][None], []))
    ranker = made(Dense)
    return lambda query, k, mask: ranker.retrieve(query, k, mask)[:2]


def test_exact_vectors(filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch) -> None:
    stored, queries = vectors(4, DOCUMENTS), vectors(5, QUERIES)
    search = searching(monkeypatch, ExactIndex(StoredVectors(stored)), queries)
    equals_brute_force(filtered, search, queries @ stored.T)


def test_binary_codes(filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are exact among the allowed documents whose signs differ least, ties included."""
    monkeypatch.setattr(binary, "RESCORED", 6)
    monkeypatch.setattr(binary, "PER_HIT", 2)
    stored, queries = vectors(6, DOCUMENTS), vectors(7, QUERIES)
    index = BinaryIndex(binary_codes(stored), StoredVectors(stored))
    search = searching(monkeypatch, index, queries)
    every, dropped = queries @ stored.T, 0
    for mask, allowed, query, k in filtered:
        numbers = np.flatnonzero(allowed)
        differing = ((stored[numbers] > 0) != (queries[query] > 0)).sum(1)
        most = max(6, 2 * k)
        if most < len(numbers):
            near = differing <= np.sort(differing)[most - 1]
            dropped += len(numbers) - int(np.count_nonzero(near))
            numbers = numbers[near]
        scores = every[query][numbers]
        wanted = numbers[np.lexsort((numbers, -scores))][:k]
        found, products = search(query, k, mask)
        assert found.tolist() == wanted.tolist()
        assert products.tolist() == every[query][wanted].tolist()
        assert len(found) == min(k, np.count_nonzero(allowed))
    assert dropped > FILTERS  # the codes decide


def test_a_graph(filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """HNSW promises k allowed documents if there are k, and their exact scores, best first."""
    hnsw = pytest.importorskip("ranklet.runtime.dense.hnsw")
    pytest.importorskip("hnswlib")
    stored, queries = vectors(8, DOCUMENTS), vectors(9, QUERIES)
    hnsw.build(stored, tmp_path / "graph")
    data = memoryview((tmp_path / "graph").read_bytes())
    graph = hnsw.HNSWIndex(data, StoredVectors(stored))
    search = searching(monkeypatch, graph, queries)
    every, shared, total = queries @ stored.T, 0.0, 0
    for mask, allowed, query, k in filtered:
        found, scores = search(query, k, mask)
        count = min(k, int(np.count_nonzero(allowed)))
        assert len(set(found.tolist())) == len(found) == count
        assert allowed[found].all()
        np.testing.assert_allclose(scores, every[query][found], atol=1e-5)
        assert (np.diff(scores) <= 0).all()
        best = np.sort(every[query][allowed])[::-1][:count]  # ties are as good as one another
        shared += np.isclose(scores, best, atol=1e-5).sum()
        total += count
    assert shared > 0.98 * total


def test_late_interaction(filtered: list[Filtered], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    texts = [vectors(int(rng.integers(1 << 30)), int(rng.integers(0, 5))) for _ in range(DOCUMENTS)]
    queries = [vectors(100 + number, 1 + number % 3) for number in range(QUERIES)]
    store = TokenStore.of(texts, "int8", DIMENSION)
    asked = [quantise_query(each, "int8") for each in queries]
    monkeypatch.setattr(ColBERT, "store", store)
    monkeypatch.setattr(ColBERT, "_encoded", lambda _, query: (asked[query], False))
    ranker = made(ColBERT, _name="colbert")
    every = np.stack([store.scores(each, np.arange(DOCUMENTS)) for each in asked])
    # The scores of all documents are those of the formula, but for the rounding of 8 bits.
    formula = [
        [float((each @ text.T).max(1).sum()) if len(text) else 0.0 for text in texts]
        for each in queries
    ]
    np.testing.assert_allclose(every, formula, atol=1)
    equals_brute_force(filtered, lambda query, k, mask: ranker.retrieve(query, k, mask)[:2], every)
