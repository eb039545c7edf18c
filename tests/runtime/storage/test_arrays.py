import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.arrays import map_array

TYPES = (np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.float32, np.float64)


def saved(values: NDArray[Any]) -> memoryview:
    file = io.BytesIO()
    np.save(file, values)
    return memoryview(file.getvalue())


@given(st.sampled_from(TYPES).flatmap(lambda dtype: hnp.arrays(dtype, 3)))
def test_every_type_reads_back(values: NDArray[Any]) -> None:
    found = map_array(saved(values), "x", TYPES, (None,))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("shape", [(0,), (1,), (10**5,), (0, 3), (3, 0), (2, 3), (1, 2, 3), ()])
def test_every_shape_reads_back(shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    found = map_array(saved(values), "x", [np.float32], tuple(None for _ in shape))
    np.testing.assert_array_equal(found, values)
    assert map_array(saved(values), "x", [np.float32], shape).shape == shape


def test_it_is_a_view_that_cannot_be_written_to() -> None:
    data = saved(np.arange(5))
    found = map_array(data, "x", [np.int64], (5,))
    assert not found.flags.writeable
    assert np.shares_memory(found, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.arange(3.0), r"rankers/x\.npy holds <f8; the bundle format requires <i4 or <u2"),
        (np.arange(4, dtype=np.int32), r"has shape \(4,\); it must be \(3\)"),
        (np.ones((3, 1), np.int32), r"has shape \(3, 1\); it must be \(3\)"),
        (np.asfortranarray(np.ones((3, 2), np.int32)), "Fortran order"),
    ],
)
def test_what_is_wrong_is_refused(values: NDArray[Any], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        map_array(saved(values), "rankers/x.npy", [np.int32, np.uint16], (3,))
