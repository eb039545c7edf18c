"""A table learns what a network says, as far as a bag of tokens can."""

from typing import Any

import numpy as np

from ranklet.training.distilling.query_table import NEAR, learn

SIZE, DIMENSION = 40, 12
Array = np.ndarray[Any, np.dtype[Any]]


def list_searched(rows: Array, count: int) -> tuple[list[list[int]], Array]:
    """Return token ids and what a table says of them."""
    draw = np.random.default_rng(3)
    tokens = [draw.integers(1, SIZE, draw.integers(1, 6)).tolist() for _ in range(count)]
    totals = np.array([rows[ids].sum(0) for ids in tokens])
    return tokens, (totals / np.linalg.norm(totals, axis=1, keepdims=True)).astype(np.float16)


def test_what_a_table_says_is_learned_by_another() -> None:
    draw = np.random.default_rng(0)
    tokens, vectors = list_searched(draw.normal(size=(SIZE, DIMENSION)), 3000)
    begin = draw.normal(size=(SIZE, DIMENSION)).astype(np.float32)
    before, rounds = begin.copy(), list[tuple[int, float]]()
    rows, cosine = learn(tokens, vectors, begin, lambda *each: rounds.append(each))
    assert cosine > 0.97
    assert [turn for turn, _ in rounds] == [1, 2]
    np.testing.assert_array_equal(begin, before)
    found = np.array([rows[ids].sum(0) for ids in tokens])
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    assert float((found * vectors).sum(1).mean()) > 0.97
    # What no text has stays where it was, but for the one factor of all.
    np.testing.assert_allclose(rows[0] / rows[0, 0], before[0] / before[0, 0], rtol=1e-4)
    again, _ = learn(tokens, vectors, begin)
    np.testing.assert_array_equal(again, rows)


def test_the_steps_of_conjugate_gradients_solve_least_squares() -> None:
    draw = np.random.default_rng(1)
    tokens, vectors = list_searched(draw.normal(size=(SIZE, DIMENSION)), 4)
    begin = draw.normal(size=(SIZE, DIMENSION)).astype(np.float32)
    rows, cosine = learn(tokens, vectors, begin)
    assert cosine == 0  # of so few texts none is held back
    counts = np.zeros((4, SIZE))
    for at, ids in enumerate(tokens):
        np.add.at(counts[at], ids, 1)
    wanted = vectors / np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True)
    found = counts @ begin
    first = begin * (found * wanted).sum() / (found**2).sum()
    exact = first.copy()
    for _ in range(2):
        found = counts @ exact
        lengths = (found * wanted).sum(1, keepdims=True).clip(0.3, 2)
        left = counts.T @ counts + NEAR * np.eye(SIZE)
        exact = np.linalg.solve(left, counts.T @ (lengths * wanted) + NEAR * first)
    np.testing.assert_allclose(rows, exact, atol=1e-3)


def test_texts_without_tokens_teach_nothing() -> None:
    begin = np.ones((3, 2), np.float32)
    rows, cosine = learn([[], []], np.ones((2, 2), np.float16), begin)
    np.testing.assert_array_equal(rows, begin)
    assert cosine == 0
