"""MaxSim over stored vectors against plain loops, and the same to the bit in any company."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.runtime.dense import maxsim
from ranklet.runtime.dense.maxsim import TokenStore, quantise_query

TYPES = ("int8", "int16")
Vectors = NDArray[np.float32]


def vectors(rng: np.random.Generator, tokens: int, dimension: int = 12) -> Vectors:
    made = rng.normal(size=(tokens, dimension)) * rng.lognormal(size=(tokens, 1))
    return made.astype(np.float32)


def by_loops(query: Vectors, document: Vectors) -> float:
    """Return Σ_i max_j q_i · d_j without any matrix."""
    total = 0.0
    for q in query.tolist():
        products = [sum(a * b for a, b in zip(q, d, strict=True)) for d in document.tolist()]
        total += max(products, default=0.0)
    return total


@pytest.mark.parametrize(("dtype", "tolerance"), [("int8", 0.02), ("int16", 1e-3)])
def test_scores_are_those_of_plain_loops(dtype: str, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    query = vectors(rng, 5)
    documents = [vectors(rng, tokens) for tokens in (3, 1, 0, 9, 4)]
    store = TokenStore.of(documents, dtype, 12)
    scores = store.scores(quantise_query(query, dtype), np.array([4, 0, 2, 3, 1]))
    expected = [by_loops(query, documents[at]) for at in (4, 0, 2, 3, 1)]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)
    assert scores[2] == 0  # it has no vector


def test_documents_longer_than_a_block_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    documents = [vectors(rng, tokens) for tokens in (3, 30, 1, 9, 8, 8, 31)]
    store, query = TokenStore.of(documents, "int8", 12), quantise_query(vectors(rng, 4), "int8")
    expected = store.scores(query, np.arange(7))
    monkeypatch.setattr(maxsim, "BLOCK", 8)
    np.testing.assert_array_equal(store.scores(query, np.arange(7)), expected)


def test_nothing_to_score_is_no_error() -> None:
    rng = np.random.default_rng(2)
    store = TokenStore.of([vectors(rng, 0), vectors(rng, 2)], "int8", 12)
    no_query = quantise_query(vectors(rng, 0), "int8")
    assert store.scores(no_query, np.array([0, 1])).tolist() == [0, 0]
    query = quantise_query(vectors(rng, 3), "int8")
    assert store.scores(query, np.array([], np.uint32)).tolist() == []
    assert store.scores(query, np.array([0], np.uint32)).tolist() == [0]
    assert len(TokenStore.of([], "int16", 12)) == 0
