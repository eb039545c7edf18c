"""Some of many queries, evenly spread over all of them."""

import numpy as np


def evenly(count: int, most: int) -> list[int]:
    """Return the numbers of at most `most` queries, evenly spread over `count`.

    Queries stand in the order of their sources, so the first ones are of one kind.

    >>> evenly(10, 4), evenly(3, 9)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    numbers: list[int] = np.linspace(0, count - 1, min(most, count)).astype(int).tolist()
    return numbers
