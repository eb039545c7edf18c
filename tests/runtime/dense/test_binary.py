"""Search by binary codes."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.runtime.dense.binary import BinaryIndex, binary_codes
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.ground.errors import BundleError

RNG = np.random.default_rng(0)


def near(count: int, dimension: int) -> NDArray[np.float32]:
    """Return vectors that lie in clusters, as those of texts do, (count, dimension) float32."""
    centres = RNG.normal(size=(50, dimension))
    rows = centres[RNG.integers(50, size=count)] + 0.7 * RNG.normal(size=(count, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def index(vectors: NDArray[np.float32]) -> BinaryIndex:
    return BinaryIndex(binary_codes(StoredVectors(vectors)), StoredVectors(vectors))


@pytest.mark.parametrize("dimension", [1, 63, 64, 65, 384])
def test_a_code_says_which_dimensions_are_above_the_mean(dimension: int) -> None:
    vectors = RNG.normal(size=(5, dimension)).astype(np.float32)
    codes = binary_codes(StoredVectors(vectors))
    assert codes.shape == (-(-dimension // 64), 5)
    for number, vector in enumerate(vectors):
        bits = [int(codes[at // 64, number]) >> (at % 64) & 1 for at in range(dimension)]
        assert bits == (vector > vectors.mean(0)).astype(int).tolist()
        assert sum(int(word).bit_count() for word in codes[:, number]) == sum(bits)


@pytest.mark.parametrize("away", [0, 3])  # of an encoder such as E5, all cosines are above .7
def test_it_finds_nearly_what_exact_search_finds_with_the_same_scores(away: float) -> None:
    vectors = near(20_000, 128) + np.float32(away / np.sqrt(128))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes, exact, shared = index(vectors), ExactIndex(StoredVectors(vectors)), 0
    for query in vectors[:50]:
        wanted = exact.search(query, 10)[0]
        numbers, scores = codes.search(query, 10)
        shared += len({*wanted.tolist()} & {*numbers.tolist()})
        np.testing.assert_allclose(scores, vectors[numbers] @ query, rtol=1e-5)
    assert shared >= 0.95 * 500


@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.6, 1.0])
def test_k_hits_come_back_whenever_k_documents_are_allowed(share: float) -> None:
    vectors = near(6_000, 32)
    codes, found = index(vectors), 0
    allowed = RNG.random(len(vectors)) < share
    for query in vectors[:20]:
        numbers, scores = codes.search(query, 10, allowed)
        assert len(numbers) == min(10, allowed.sum())
        assert allowed[numbers].all()
        some = np.flatnonzero(allowed)
        best = some[np.lexsort((some, -(vectors[some] @ query)))][:10]
        found += len({*best.tolist()} & {*numbers.tolist()})
        assert (np.diff(scores) <= 0).all()
    assert found >= 0.9 * 20 * min(10, allowed.sum())


def test_few_documents_are_compared_exactly_so_the_result_is_that_of_exact_search() -> None:
    vectors = near(900, 32)
    for query in vectors[:20]:
        numbers, scores = index(vectors).search(query, 10)
        wanted, exact = ExactIndex(StoredVectors(vectors)).search(query, 10)
        assert numbers.tolist() == wanted.tolist()
        np.testing.assert_allclose(scores, exact, rtol=1e-5)


def test_a_code_of_another_vector_is_found() -> None:
    vectors = near(100, 70)
    codes = binary_codes(StoredVectors(vectors))
    BinaryIndex(codes, StoredVectors(vectors)).verify("dense")
    codes[1, 99] ^= np.uint64(1)
    with pytest.raises(BundleError, match="dense: a code is not that of its vector"):
        BinaryIndex(codes, StoredVectors(vectors)).verify("dense")
