"""A table learns what a network says, as far as a bag of tokens can."""

import numpy as np
import pytest

from ranklet.training.distilling.query_table import AGAIN, Learning, Table, learn

SIZE, DIMENSION = 40, 12


def texts_of(
    rows: np.ndarray, constant: np.ndarray, count: int
) -> tuple[list[list[int]], np.ndarray]:
    """Return token ids and what a table says of them."""
    draw = np.random.default_rng(3)
    tokens = [draw.integers(1, SIZE, draw.integers(1, 6)).tolist() for _ in range(count)]
    totals = np.array([rows[ids].sum(0) for ids in tokens])
    vectors = totals / np.linalg.norm(totals, axis=1, keepdims=True) + constant
    return tokens, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.mark.slow
def test_what_a_table_says_is_learned_by_another() -> None:
    draw = np.random.default_rng(0)
    rows, constant = draw.normal(size=(SIZE, DIMENSION)), draw.normal(size=DIMENSION) / 4
    tokens, vectors = texts_of(rows, constant, 3000)
    begin = Table(
        0.1 * draw.normal(size=(SIZE, DIMENSION)).astype(np.float32),
        np.zeros(DIMENSION, np.float32),
    )
    before = begin.rows.copy()
    passes = list[tuple[int, float]]()
    learning = Learning(epochs=6, batch=64, row_rate=0.02, rate=0.01)
    table, cosine = learn(tokens, vectors, begin, learning, lambda *each: passes.append(each))
    assert cosine > 0.98
    assert [epoch for epoch, _ in passes] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(begin.rows, before)
    # Its rows alone, without the matrix that it learned beside them, say so.
    totals = np.array([table.rows[ids].sum(0) for ids in tokens])
    own = totals / np.linalg.norm(totals, axis=1, keepdims=True) + table.constant
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    assert float((own * vectors).sum(1).mean()) > 0.98
    # Learning from other texts leaves the constant and the rows of tokens that they lack.
    few = [ids for ids in tokens if 7 not in ids][:300]
    again, _ = learn(few, vectors[: len(few)], table, AGAIN)
    np.testing.assert_allclose(again.rows[7], table.rows[7], rtol=1e-6)
    np.testing.assert_array_equal(again.constant, table.constant)


def test_texts_without_tokens_teach_nothing() -> None:
    begin = Table(np.ones((3, 2), np.float32), np.zeros(2, np.float32))
    table, cosine = learn([[], []], np.ones((2, 2), np.float16), begin, Learning(epochs=1))
    np.testing.assert_array_equal(table.rows, begin.rows)
    assert cosine == 0
