"""The figures of interpolations are those of a pipeline that can be served."""

import numpy as np
import pytest
from benchmarks.harness.query_scaling import of_unit_variance

from ranklet.runtime.execution import fusion


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_those_of_earlier_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(rng.normal(0, 20, 2), rng.uniform(0.01, 30, 2), (rng.integers(2, 101), 2))
    columns = scores.astype(np.float32).astype(np.float64)
    wanted = columns / np.maximum(columns.std(0), 1e-9)  # as the tables were computed before
    np.testing.assert_allclose(of_unit_variance(scores.astype(np.float32)), wanted, rtol=1e-6)


def test_an_interpolation_is_what_a_pipeline_serves() -> None:
    scores = np.random.default_rng(0).normal(3, 2, (50, 2)).astype(np.float32)
    columns = [np.ascontiguousarray(each) for each in scores.T]
    scalings = [fusion.scaling_of("variance", each, 7.0) for each in columns]
    served = fusion.linear(columns, (0.3, 0.7), scalings)
    mixed = of_unit_variance(scores) @ np.array([0.3, 0.7], np.float32)
    np.testing.assert_allclose(served, mixed, rtol=1e-5)


def test_what_has_no_variance_stays() -> None:
    assert of_unit_variance(np.array([[2, 1], [2, 3]], np.float32)).tolist() == [[2, 1], [2, 3]]
    assert of_unit_variance(np.array([[5, 6]], np.float32)).tolist() == [[5, 6]]
    assert of_unit_variance(np.empty((0, 2), np.float32)).shape == (0, 2)
