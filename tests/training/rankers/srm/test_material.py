"""Centroids of each token's vectors."""

import numpy as np

from ranklet.training.rankers.srm.material import centroids, k_means


def test_every_token_has_the_centroids_of_its_own_vectors() -> None:
    rng = np.random.default_rng(0)
    ids = np.array([1, 2, 1, 2, 2, 1, 4])
    vectors = rng.normal(size=(7, 3)).astype(np.float16)
    alone = rng.normal(size=(6, 3)).astype(np.float32)
    table = centroids(ids, vectors, alone, 1, seed=0)
    for token in range(6):
        own = vectors[ids == token].astype(np.float32)
        expected = own.mean(0) if len(own) else alone[token]
        np.testing.assert_allclose(table[token, 0], expected, atol=1e-6)


def test_clusters_that_lie_apart_are_found() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10]], np.float32)
    vectors = np.concatenate([centres, np.repeat(centres, 20, 0) + rng.normal(size=(60, 2)) / 10])
    found = k_means(vectors.astype(np.float32), 3)
    np.testing.assert_allclose(found, centres, atol=0.1)
