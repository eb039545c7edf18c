from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.runtime.dense.exact import ExactIndex
from ranklet.runtime.dense.stored import BLOCK, StoredVectors
from ranklet.runtime.errors import InputError


def test_exact_search_is_the_inner_product_best_first_ties_by_number() -> None:
    vectors = np.array([[1, 0], [2, 0], [2, 0], [0, 5]], np.float32)
    numbers, scores = ExactIndex(StoredVectors(vectors)).search(np.array([1, 0], np.float32), 3)
    assert numbers.tolist() == [1, 2, 0]
    assert scores.tolist() == [2, 2, 1]


@pytest.mark.parametrize(("k", "count"), [(0, 0), (1, 1), (500, 500), (9999, 500)])
def test_any_k_is_answered(k: int, count: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    numbers, scores = ExactIndex(StoredVectors(vectors)).search(vectors[0], k)
    assert len(numbers) == len(scores) == count
    assert (np.diff(scores) <= 0).all()


def test_exact_search_goes_through_all_blocks() -> None:
    vectors = np.zeros((BLOCK + 2, 1), np.float32)
    vectors[-1] = 1
    assert ExactIndex(StoredVectors(vectors)).search(np.ones(1, np.float32), 1)[0].tolist() == [
        BLOCK + 1
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("share", [0, 0.002, 0.05, 0.2, 0.3, 0.9, 1])
def test_a_mask_leaves_the_ranking_of_the_allowed_documents(share: float, dtype: type) -> None:
    rng = np.random.default_rng(0)
    # Whole numbers, whose products are exact in any order, and many of which tie.
    vectors: NDArray[Any] = rng.integers(-3, 4, size=(1500, 4)).astype(dtype)
    index = ExactIndex(StoredVectors(vectors))
    for k in (0, 1, 10, 1500, 9999):
        query = rng.integers(-3, 4, size=4).astype(np.float32)
        allowed = rng.random(1500) < share
        numbers, scores = index.search(query, 1500)
        kept = allowed[numbers]
        found = index.search(query, k, allowed)
        assert found[0].tolist() == numbers[kept][:k].tolist()
        assert found[1].tolist() == scores[kept][:k].tolist()
        assert [each.dtype for each in found] == [np.uint32, np.float32]


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_scores_under_a_mask_are_inner_products(share: float) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(3000, 48)).astype(np.float32)
    allowed = rng.random(3000) < share
    numbers, scores = ExactIndex(StoredVectors(vectors)).search(vectors[7], 3000, allowed)
    assert sorted(numbers.tolist()) == np.flatnonzero(allowed).tolist()
    np.testing.assert_allclose(scores, vectors[numbers] @ vectors[7], rtol=1e-5, atol=1e-5)
    assert (np.diff(scores) <= 0).all()


def test_blocks_without_an_allowed_document_are_not_read() -> None:
    read: list[object] = []

    class Guarded(np.ndarray[Any, np.dtype[Any]]):
        def __getitem__(self, key: Any) -> Any:
            read.append(key)
            return super().__getitem__(key)

    vectors = np.ones((2 * BLOCK, 1), np.float32).view(Guarded)
    allowed = np.arange(2 * BLOCK) >= BLOCK
    found, _ = ExactIndex(StoredVectors(vectors)).search(np.ones(1, np.float32), 3, allowed)
    assert found.tolist() == [BLOCK, BLOCK + 1, BLOCK + 2]
    assert read == [slice(BLOCK, 2 * BLOCK)]


def test_a_mask_of_another_collection_is_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(3,\); pass .* of shape \(2,\)"):
        ExactIndex(StoredVectors(np.ones((2, 1), np.float32))).search(
            np.ones(1, np.float32), 1, np.ones(3, bool)
        )
