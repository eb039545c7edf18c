"""A block array is its array, and reads no number that was not fetched."""

from typing import Any

import numpy as np
import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.block_array import BlockArray, fetch_rows


class Memory:
    """Fetches from memory; bytes that were not fetched are 255."""

    def __init__(self, content: bytes) -> None:
        self._content, self._there = content, bytearray(b"\xff" * len(content))
        self.data = memoryview(self._there).toreadonly()
        self.rounds = 0

    def fetch(self, begins: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> None:
        self.rounds += 1
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            self._there[begin:end] = self._content[begin:end]

    def holds(self, begin: int, end: int) -> bool:
        return self._there[begin:end] == self._content[begin:end]

    def arrived(self, begin: int, end: int) -> bool:
        return end > begin

    def forget(self, begin: int, end: int) -> None:
        self._there[begin:end] = b"\xff" * (end - begin)


def absent(array: np.ndarray[Any, Any]) -> Any:
    return BlockArray(Memory(b"head" + array.tobytes()), 4, array.dtype, array.shape)


NUMBERS = np.arange(40, dtype=np.int32)
ROWS = NUMBERS.reshape(10, 4)
KEYS: list[Any] = [
    0, -1, 9, np.int64(3), slice(None), slice(2, 5), slice(5, 2), slice(-3, None), slice(0, 9, 2),
    np.array([3, 1, 3]), np.array([-1]), np.array([], np.int64), np.array([[1, 2], [0, 9]]),
    np.array([True, False] * 5), [1, 2], (slice(1, 3), None), (np.array([2, 4]), 1), (3, 2),
    (slice(None), 2), ..., None,
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_part_is_that_of_the_array(key: Any) -> None:
    np.testing.assert_array_equal(absent(ROWS)[key], ROWS[key])


@pytest.mark.parametrize("key", [10, -11, np.array([10]), np.array([0, -11]), (10, 0)])
def test_a_row_past_the_end_is_an_index_error(key: Any) -> None:
    with pytest.raises(IndexError):
        absent(ROWS)[key]


@pytest.mark.parametrize(
    "use",
    [
        np.asarray, np.diff, np.sort, lambda a: np.asarray(a, np.float32), lambda a: a + 1,
        lambda a: 2 * a, lambda a: a == 3, lambda a: a[1:] < a[:-1], lambda a: a.max(),
        lambda a: a.astype(np.int64), lambda a: a.tolist(), lambda a: list(a),
        lambda a: np.searchsorted(a, [3, 50]), lambda a: np.bincount(a), lambda a: a.sum(),
        lambda a: np.take(a, [2, 3]), lambda a: np.isfinite(a), lambda a: np.arange(40) - a,
        lambda a: np.add.reduceat(a, [0, 3]), lambda a: np.concatenate([a, a]), len,
        lambda a: str((a.dtype, a.shape, a.ndim, a.size, a.nbytes)), lambda a: bytes(a.data),
        lambda a: np.array(a, copy=True),
    ],
)  # fmt: skip
def test_functions_of_numpy_take_it(use: Any) -> None:
    found, wanted = use(absent(NUMBERS)), use(NUMBERS)
    np.testing.assert_array_equal(found, wanted)


def test_it_has_no_buffer_that_could_be_read_before_it_is_fetched() -> None:
    with pytest.raises(TypeError):
        memoryview(absent(NUMBERS))


@pytest.mark.parametrize("offsets", [[0, 5, 3, 10], [0, 99, 99, 99], [0, -5, 3, 10]])
def test_offsets_that_lead_elsewhere_are_damage(offsets: list[int]) -> None:
    source = Memory(np.array(offsets).tobytes() + bytes(10))
    rows: Any = BlockArray(source, 0, np.dtype(np.int64), (4,))
    data: Any = BlockArray(source, 32, np.dtype(np.uint8), (10,))
    with pytest.raises(BundleError, match="offsets"):
        fetch_rows([0, 1], ragged=[(rows, data)])
