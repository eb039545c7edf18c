"""Kernels over windows, against plain loops."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ranklet.training.learning.device import seeded
from ranklet.training.rankers.conformer_kernel.kernel_pooling import (
    cosines,
    kernel_centres,
    window_counts,
)


def by_hand(
    similar: NDArray[np.float64], length: int, kernels: int, size: int, stride: int
) -> list[list[list[float]]]:
    """Windows that begin in the document; of each the soft counts of each term."""
    windows = []
    for begin in range(0, max(1, length), stride):
        inside = range(begin, min(begin + size, length))
        windows.append(
            [
                [
                    sum(
                        math.exp(-((row[at] - 1 + 2 * k / kernels) ** 2) / (2 * 0.1**2))
                        for at in inside
                    )
                    for k in range(kernels)
                ]
                for row in similar
            ]
        )
    return windows


@pytest.mark.parametrize(("size", "stride"), [(4, 2), (3, 3), (20, 5), (5, 1)])
def test_windowed_kernel_pooling_by_hand(size: int, stride: int) -> None:
    with seeded(5):
        queries, documents = torch.randn(3, 2, 4), torch.randn(3, 11, 4)
    lengths = [11, 4, 0]
    held = torch.arange(11) < torch.tensor(lengths)[:, None]
    similar = cosines(queries, documents)
    for q, d in ((0, 0), (1, 10)):
        wanted = torch.cosine_similarity(queries[0, q], documents[0, d], 0)
        assert similar[0, q, d].item() == pytest.approx(wanted.item(), rel=1e-5)
    counts, there = window_counts(similar, held, kernel_centres(3), size=size, stride=stride)
    for at, length in enumerate(lengths):
        expected = by_hand(similar[at].double().numpy(), length, 3, size, stride)
        assert there[at].sum() == len(expected)
        found = counts[at][:, there[at]].transpose(0, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
