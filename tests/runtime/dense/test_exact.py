import numpy as np
import pytest

from ranklet.runtime.dense.exact import BLOCK, ExactIndex


def test_exact_search_is_the_inner_product_best_first_ties_by_number() -> None:
    vectors = np.array([[1, 0], [2, 0], [2, 0], [0, 5]], np.float32)
    numbers, scores = ExactIndex(vectors).search(np.array([1, 0], np.float32), 3)
    assert numbers.tolist() == [1, 2, 0]
    assert scores.tolist() == [2, 2, 1]


@pytest.mark.parametrize(("k", "count"), [(0, 0), (1, 1), (500, 500), (9999, 500)])
def test_any_k_is_answered(k: int, count: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    numbers, scores = ExactIndex(vectors).search(vectors[0], k)
    assert len(numbers) == len(scores) == count
    assert (np.diff(scores) <= 0).all()


def test_exact_search_goes_through_all_blocks() -> None:
    vectors = np.zeros((BLOCK + 2, 1), np.float32)
    vectors[-1] = 1
    assert ExactIndex(vectors).search(np.ones(1, np.float32), 1)[0].tolist() == [BLOCK + 1]
