"""Each token's share of a vector, against the pooling of the network itself."""

import numpy as np
import pytest

from ranklet.runtime.dense.pooling import ADDITIVE, token_shares


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("pooling", ADDITIVE)
def test_shares_add_up_to_the_pooled_vector(pooling: str, normalise: bool) -> None:
    import torch

    from ranklet.training.rankers.dense.network import pool

    states = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    pooled = pool(torch.from_numpy(states)[None], torch.ones((1, 5), dtype=torch.int64), pooling)
    expected = pooled.numpy()[0, :6]
    if normalise:
        expected = expected / np.linalg.norm(expected)
    shares = token_shares(states, pooling, 6, normalise=normalise)
    assert shares.shape == (5, 6)
    np.testing.assert_allclose(shares.sum(0), expected, atol=1e-6)


def test_states_that_cancel_out_have_shares_without_a_length() -> None:
    states = np.array([[1, 0], [-1, 0]], np.float32)
    assert token_shares(states, "mean", 2, normalise=True).tolist() == [[0.5, 0], [-0.5, 0]]
    assert token_shares(states[:0], "mean", 2, normalise=True).shape == (0, 2)
