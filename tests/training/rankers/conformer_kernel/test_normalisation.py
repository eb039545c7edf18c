"""Statistics of a batch leave padding out."""

import numpy as np
import pytest
import torch

from ranklet.training.learning.device import seeded
from ranklet.training.rankers.conformer_kernel.normalisation import BatchScale, ScoreNorm


def test_batch_scale_divides_by_the_mean_of_what_is_counted() -> None:
    layer = BatchScale()
    values, counted = (
        torch.tensor([[1.0, 3.0], [8.0, 99.0]]),
        torch.tensor([[True] * 2, [True, False]]),
    )
    np.testing.assert_allclose(layer(values, counted), values / 4, rtol=1e-5)
    assert layer.mean.item() == pytest.approx(4)
    layer(3 * values, counted)
    assert layer.mean.item() == pytest.approx((4 + 12) / 2)  # so early all batches count alike
    layer.eval()
    np.testing.assert_allclose(layer(values, counted), values / 8, rtol=1e-5)
    assert layer.mean.item() == pytest.approx(8)


def test_the_norm_of_scores_is_pytorchs_batch_norm_of_what_is_counted() -> None:
    with seeded(4):
        values = torch.randn(6, 5) * 3 + 2
    counted = torch.arange(5) < torch.tensor([5, 1, 3, 0, 2, 4])[:, None]
    ours, theirs = ScoreNorm(), torch.nn.BatchNorm1d(1, affine=False)
    wanted = theirs(values[counted][:, None])[:, 0]
    torch.testing.assert_close(ours(values, counted)[counted], wanted, rtol=1e-5, atol=1e-6)
    ours.eval()
    there = values[counted].double()
    expected = (values.double() - there.mean()) / there.std(correction=0)
    torch.testing.assert_close(ours(values, counted).double(), expected, rtol=1e-4, atol=1e-4)
    ours.train()
    nothing = ours(values, torch.zeros_like(counted))
    assert torch.isfinite(nothing).all()
