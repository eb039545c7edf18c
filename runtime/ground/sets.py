"""Sets of numbers, as arrays.

numpy's own functions import masked arrays when they are first called, which takes as long as a
query, and they are slower where sets are small.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def distinct(numbers: NDArray[T]) -> NDArray[T]:
    """Return the different numbers of an array, which ascend.

    >>> distinct(np.array([4, 1, 4, 9])).tolist()
    [1, 4, 9]
    """
    ascending: NDArray[T] = np.sort(numbers, axis=None)
    new = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return np.asarray(ascending[new])


def evenly(count: int, most: int) -> list[int]:
    """Return at most so many numbers below a count, evenly spread over it.

    >>> evenly(10, 4), evenly(3, 9), evenly(0, 2)
    ([0, 3, 6, 9], [0, 1, 2], [])
    """
    places: list[int] = np.linspace(0, count - 1, min(most, count)).astype(int).tolist()
    return places


def among(numbers: NDArray[Any], some: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers are among some that ascend.

    >>> among(np.array([4, 1, 9]), np.array([1, 4, 8])).tolist()
    [True, True, False]
    """
    if not len(some):
        return np.zeros(len(numbers), np.bool_)
    return np.asarray(some.take(np.searchsorted(some, numbers), mode="clip") == numbers)


def add_new(numbers: NDArray[T], others: NDArray[T]) -> tuple[NDArray[T], NDArray[np.intp]]:
    """Return numbers and those others that are not among them, and the place of each other.

    >>> add_new(np.array([7, 3]), np.array([3, 5, 7]))
    (array([7, 3, 5]), array([1, 2, 0]))

    Args:
        numbers: without repetitions, (numbers,).
        others: without repetitions, (others,).
    """
    if not len(numbers):
        return others, np.arange(len(others))
    order = numbers.argsort()
    at = order.take(numbers.searchsorted(others, sorter=order), mode="clip")
    new = (numbers[at] != others).nonzero()[0]
    at[new] = np.arange(len(numbers), len(numbers) + len(new))
    return np.concatenate([numbers, others[new]]), at
