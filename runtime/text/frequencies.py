"""How often words occur, in a byte each: exact up to 127, and then within 5 %."""

import numpy as np
from numpy.typing import NDArray

_EXACT, _STEPS = 128, 8  # what is less is exact; codes per doubling from there on


def encode_counts(counts: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the nearest code of each number, from 0 up to about 7 million, of the same shape.

    >>> encode_counts(np.array([0, 127, 128, 1000, 10**9])).tolist()
    [0, 127, 128, 152, 255]
    """
    logarithms = np.log2(np.maximum(counts, _EXACT) / _EXACT)
    codes = np.where(counts < _EXACT, counts, _EXACT + np.rint(_STEPS * logarithms))
    return np.minimum(codes, 255).astype(np.uint8)


def decode_counts(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the numbers that some codes stand for, of the same shape.

    >>> decode_counts(np.array([0, 127, 128, 152], np.uint8)).tolist()
    [0.0, 127.0, 128.0, 1024.0]
    """
    found = codes.astype(np.float64)
    return np.where(codes < _EXACT, found, _EXACT * 2 ** ((found - _EXACT) / _STEPS))
