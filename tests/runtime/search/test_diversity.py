"""Maximal marginal relevance, compared with its definition in plain Python."""

from collections.abc import Sequence

import numpy as np
import pytest

from ranklet.runtime.search.diversity import by_vectors, by_words, diverse
from ranklet.runtime.storage.forward import Gathered


def plainly(scores: Sequence[float], alike: Sequence[Sequence[float]], share: float) -> list[int]:
    best, least = max(scores), min(scores)
    chosen, left = list[int](), list(range(len(scores)))
    while left:
        gains = [
            (1 - share) * ((scores[place] - least) / (best - least or 1.0))
            - share * max((alike[other][place] for other in chosen), default=0.0)
            for place in left
        ]
        chosen.append(left.pop(gains.index(max(gains))))
    return chosen


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_the_order_is_that_of_the_definition(share: float) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 2, 9, 30):
        scores = np.sort(rng.integers(0, 9, count).astype(np.float32))[::-1]
        rows = [rng.choice(12, rng.integers(0, 8)) for _ in range(count)]
        tokens = np.concatenate([*rows, np.empty(0, np.int64)])
        similarity = by_words(Gathered(tokens, np.array([len(row) for row in rows])))
        sets = [set(row.tolist()) for row in rows]
        alike = [[len(a & b) / (len(a | b) or 1) for b in sets] for a in sets]
        assert [similarity(place).tolist() for place in range(count)] == alike
        wanted = plainly(scores.tolist(), alike, share)
        assert diverse(scores, similarity, share, count).tolist() == wanted
        few = diverse(scores, similarity, share, 3).tolist()
        assert few[:3] == wanted[:3]
        assert few[3:] == sorted(wanted[3:])
        if not share:
            assert wanted == list(range(count))


def test_vectors_are_compared_by_their_cosines() -> None:
    vectors = np.array([[2, 0], [1, 1], [-1, 0], [0, 0]], np.float32)
    found = by_vectors(vectors)(0)
    assert found.tolist() == pytest.approx([1, 0.5**0.5, 0, 0])
    assert diverse(np.array([], np.float32), by_vectors(vectors[:0]), 0.5, 3).tolist() == []
