"""Sparse vectors by document: look-ups and pruning against plain dictionaries and sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.sparse_store import SparseStore, prune, store_rows

Vectors = list[dict[int, float]]


def store(vectors: Vectors) -> SparseStore:
    offsets = np.cumsum([0, *(len(each) for each in vectors)]).astype(np.int64)
    pairs = [pair for each in vectors for pair in sorted(each.items())]
    return SparseStore(
        offsets,
        np.array([term for term, _ in pairs], np.uint16),
        np.array([value for _, value in pairs], np.float16),
    )


def random_vectors(rng: np.random.Generator, vocabulary: int) -> Vectors:
    lengths = rng.integers(0, min(vocabulary, 40) + 1, int(rng.integers(1, 30)))
    return [
        {int(t): float(rng.integers(1, 99)) for t in rng.choice(vocabulary, n, replace=False)}
        for n in lengths
    ]


@given(st.integers(0, 10_000))
def test_look_ups_are_those_of_dictionaries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vocabulary = int(rng.choice([1, 5, 60, 1 << 16]))
    vectors = random_vectors(rng, vocabulary)
    held = store(vectors)
    documents = rng.integers(0, len(vectors), int(rng.integers(0, 50))).astype(np.uint32)
    terms = np.unique(rng.integers(0, vocabulary, int(rng.integers(0, 12)))).astype(np.int32)
    if len(held.terms):  # terms that are there, among others
        terms = np.unique(np.append(terms, rng.choice(held.terms, 5)))
    found = held.impacts(terms, documents)
    wanted = [[vectors[d].get(t, 0.0) for d in documents.tolist()] for t in terms.tolist()]
    np.testing.assert_array_equal(
        found, np.array(wanted, np.float32).reshape(len(terms), len(documents))
    )
    held.verify("the ranker", vocabulary)


def plain_prune(vector: NDArray[np.float32], kept: int) -> dict[int, np.float16]:
    best = sorted(range(len(vector)), key=lambda at: -vector[at])[:kept]
    return {at: np.float16(vector[at]) for at in best if np.float16(vector[at]) > 0}


@given(st.integers(0, 10_000))
def test_pruning_keeps_the_largest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vocabulary, kept = int(rng.integers(1, 50)), int(rng.integers(1, 60))
    vectors = rng.normal(0.3, 1, (int(rng.integers(0, 6)), vocabulary)).astype(np.float32)
    rows = prune(vectors, kept)
    assert rows.shape == (len(vectors), 2, min(kept, vocabulary))
    held = store_rows(rows)
    for at, vector in enumerate(vectors):
        span = slice(held.offsets[at], held.offsets[at + 1])
        found = dict(zip(held.terms[span].tolist(), held.values[span], strict=True))
        assert found == plain_prune(vector, kept)
    held.verify("the ranker", vocabulary)


def test_values_that_16_bits_hold_are_kept() -> None:
    held = store_rows(prune(np.array([[65504, 1e-9, 1.0]], np.float32), 3))
    assert held.terms.tolist() == [0, 2]  # 10⁻⁹ is nothing in 16 bits
    assert held.values.tolist() == [65504.0, 1.0]


@pytest.mark.parametrize("value", [65_520, 1e6, np.inf, np.nan])
def test_values_past_16_bits_are_refused(value: float) -> None:
    with pytest.raises(
        BundleError, match=r"value in a document is .*; the largest that can be stored is 65504"
    ):
        prune(np.array([[1.0, value, 2.0]], np.float32), 2)
    assert prune(np.array([[1.0, -1e9]], np.float32), 1)[0, 0].tolist() == [0]


@pytest.mark.parametrize(
    ("terms", "values", "message"),
    [
        ([1, 1], [1.0, 1.0], "do not ascend"),
        ([2, 1], [1.0, 1.0], "do not ascend"),
        ([1, 9], [1.0, 1.0], "past the vocabulary of 9"),
        ([1, 2], [1.0, 0.0], "not finite and positive"),
        ([1, 2], [1.0, np.inf], "not finite and positive"),
        ([1, 2], [np.nan, 1.0], "not finite and positive"),
    ],
)
def test_what_is_wrong_is_refused(terms: list[int], values: list[float], message: str) -> None:
    held = SparseStore(
        np.array([0, 0, 2]), np.array(terms, np.uint16), np.array(values, np.float16)
    )
    with pytest.raises(BundleError, match=f"the ranker: .*{message}"):
        held.verify("the ranker", 9)
