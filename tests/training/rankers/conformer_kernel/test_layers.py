"""Layers against naive references: loops over positions, written from the paper's equations."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ranklet.training.learning.device import seeded
from ranklet.training.rankers.conformer_kernel.layers import (
    Block,
    full_attention,
    separable_attention,
)

BATCH, HEADS, N, KEY, VALUE = 2, 3, 5, 4, 6


def softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(values - values.max())
    return np.asarray(powers / powers.sum())


def given() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Q, K, V, and which places are held: the second text has two of five."""
    with seeded(3):
        queries, keys = (torch.randn(BATCH, HEADS, N, KEY) for _ in range(2))
        values = torch.randn(BATCH, HEADS, N, VALUE)
    held = torch.arange(N) < torch.tensor([[5], [2]])
    return queries, keys, values, held


def test_separable_attention_is_eq_2() -> None:
    queries, keys, values, held = given()
    found = separable_attention(queries, keys, values, held)
    for batch in range(BATCH):
        n = int(held[batch].sum())
        for head in range(HEADS):
            q, k, v = (each[batch, head].double().numpy() for each in (queries, keys, values))
            gathered = np.array([softmax(k[:n, d]) @ v[:n] for d in range(KEY)])  # Φ(Kᵀ) V
            scaled = q / math.sqrt(KEY)  # as in the authors' code
            expected = np.array([softmax(scaled[at]) @ gathered for at in range(N)])
            np.testing.assert_allclose(found[batch, head], expected, rtol=1e-4, atol=1e-5)


def test_full_attention_is_eq_1() -> None:
    queries, keys, values, held = given()
    found = full_attention(queries, keys, values, held)
    for batch in range(BATCH):
        n = int(held[batch].sum())
        for head in range(HEADS):
            q, k, v = (each[batch, head].double().numpy() for each in (queries, keys, values))
            expected = np.array(
                [softmax(k[:n] @ q[at] / math.sqrt(KEY)) @ v[:n] for at in range(N)]
            )
            np.testing.assert_allclose(found[batch, head], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attention", ["separable", "full"])
def test_attention_reads_no_padding(attention: str) -> None:
    with seeded(1):
        block = Block(8, 2, attention, width=0, groups=4, dropout=0.3).eval()
        states = torch.randn(1, 4, 8)
        padded = torch.cat([states, torch.randn(1, 3, 8)], 1)
    alone = block(states, torch.ones(1, 4, dtype=torch.bool))
    held = torch.arange(7)[None] < 4
    torch.testing.assert_close(block(padded, held)[:, :4], alone, rtol=1e-5, atol=1e-6)


def test_the_convolution_is_grouped_and_sees_its_window() -> None:
    with seeded(2):
        block = Block(8, 2, "separable", width=3, groups=4, dropout=0.0)
    assert block.convolution is not None
    assert block.convolution.weight.shape == (8, 2, 3)  # 2 of 8 inputs, 3 terms
    text = torch.zeros(1, 8, 9)
    changed = text.clone()
    changed[0, 0, 4] = 1
    moved = (block.convolution(changed) != block.convolution(text)).nonzero()
    assert {*moved[:, 2].tolist()} == {3, 4, 5}  # the term and its neighbours
    assert {*moved[:, 1].tolist()} == {0, 1}  # the first group alone
