"""Clusters of vectors are those of Ward's method, and depend on nothing but the vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranklet.runtime.dense.clusters import WINDOW, halved, ward_clusters
from ranklet.runtime.dense.maxsim import quantise


def drawn(seed: int, count: int, dimension: int = 12) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.mark.parametrize("count", [2, 3, 7, 40, 97])
def test_clusters_are_those_of_scipy(count: int) -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    vectors = drawn(count, count)
    values, scales = quantise(vectors, np.int8)
    tree = hierarchy.linkage(values * scales[:, None].astype(np.float64), "ward")
    for wanted in {1, -(-count // 3), -(-count // 2), count - 1}:
        labels = hierarchy.cut_tree(tree, wanted).ravel()
        expected = sorted(np.flatnonzero(labels == label).tolist() for label in set(labels))
        assert ward_clusters(vectors, wanted) == expected


@given(st.integers(0, 2 * WINDOW + 5), st.integers(0, 9))
def test_half_as_many_groups_have_every_vector_once(count: int, seed: int) -> None:
    groups = halved(drawn(seed, count, 3))
    assert len(groups) == -(-count // 2)
    assert sorted(each for group in groups for each in group) == list(range(count))
    assert all(group[0] // WINDOW == group[-1] // WINDOW for group in groups)


def test_equal_vectors_share_a_group_and_ties_are_broken_by_place() -> None:
    vectors = np.repeat(np.eye(4, dtype=np.float32), 2, axis=0)
    assert halved(vectors) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert halved(np.ones((5, 3), np.float32))[0][:2] == [0, 1]


def test_the_scale_of_the_vectors_does_not_matter() -> None:
    vectors = drawn(3, 30)
    assert halved(vectors) == halved(vectors * np.float32(2.0**20))


def test_vectors_of_zeros_are_clustered_too() -> None:
    assert halved(np.zeros((3, 4), np.float32)) == [[0, 1], [2]]
