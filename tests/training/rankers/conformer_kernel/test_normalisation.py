"""BatchScale leaves padding out."""

import numpy as np
import pytest
import torch

from ranklet.training.rankers.conformer_kernel.normalisation import BatchScale


def test_batch_scale_divides_by_the_mean_of_all_that_was_counted() -> None:
    layer = BatchScale()
    values, counted = (
        torch.tensor([[1.0, 3.0], [8.0, 99.0]]),
        torch.tensor([[True] * 2, [True, False]]),
    )
    np.testing.assert_allclose(layer(values, counted), values / 4, rtol=1e-5)
    more = torch.full((3,), 12.0)
    np.testing.assert_allclose(layer(more, more > 0), more / 8, rtol=1e-5)
    layer.eval()
    np.testing.assert_allclose(layer(values, counted), values / 8, rtol=1e-5)
    assert layer.mean.item() == pytest.approx(8)
