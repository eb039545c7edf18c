from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.call.topk import top_k

SCORES = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 0.5, 1.0, 2.0]))


@given(SCORES, st.integers(-1, 12), st.randoms())
def test_it_is_the_head_of_the_sorted_list(scores: list[float], k: int, random: object) -> None:
    ties = np.random.default_rng(len(scores)).permutation(len(scores))
    values = np.array(scores, np.float32)
    by_position = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    by_ties = sorted(range(len(scores)), key=lambda at: (-scores[at], ties[at]))
    assert top_k(values, k).tolist() == by_position[: max(k, 0)]
    assert top_k(values, k, ties=ties).tolist() == by_ties[: max(k, 0)]


def test_numpy_numbers_do_for_k() -> None:
    one: Any = np.int64(1)
    assert top_k(np.array([1.0, 2.0]), one).tolist() == [1]
