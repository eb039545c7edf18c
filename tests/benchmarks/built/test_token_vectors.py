"""Vectors that are turned and cut to fewer dimensions."""

import numpy as np
import pytest
import torch
from tests.kinds import TinyRankers

from ranklet.training.rankers.colbert import training as colbert

token_vectors = pytest.importorskip("benchmarks.built.token_vectors")


def test_directions_are_orthonormal_and_the_largest_come_first() -> None:
    rng = np.random.default_rng(0)
    turned, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    vectors = (rng.normal(size=(500, 6)) * [9, 7, 5, 3, 0.2, 0.1]) @ turned.T
    found = token_vectors.rotation(vectors.astype(np.float32), 4)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-5)
    np.testing.assert_allclose(np.abs(turned.T @ found)[:4], np.eye(4), atol=0.2)


def test_a_turned_checkpoint_gives_the_turned_vectors(tiny: TinyRankers) -> None:
    checkpoint = tiny.checkpoint("colbert", similarity="cosine")
    size = checkpoint.settings.dimension
    directions, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size // 2)))
    turned = token_vectors.rotated(checkpoint, directions.astype(np.float32))
    assert turned.settings.dimension == size // 2
    ids = torch.tensor([[1, 2, 3]])
    inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    with torch.inference_mode():
        whole, cut = (
            colbert.load(each)(*inputs[: len(colbert.load(each).inputs)])[0].numpy()
            for each in (checkpoint, turned)
        )
    wanted = whole @ directions
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(cut, wanted, atol=1e-5)
