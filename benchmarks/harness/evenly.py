"""Some of many queries: evenly spread over all of them, or without those that chose something."""

from collections.abc import Sequence

import numpy as np

from ranklet.training.data.splits import JudgedQuery


def evenly(count: int, most: int) -> list[int]:
    """Return the numbers of at most `most` queries, evenly spread over `count`.

    Queries stand in the order of their sources, so the first ones are of one kind.

    >>> evenly(10, 4), evenly(3, 9)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    numbers: list[int] = np.linspace(0, count - 1, min(most, count)).astype(int).tolist()
    return numbers


def without(queries: Sequence[JudgedQuery], known: Sequence[JudgedQuery]) -> list[JudgedQuery]:
    """Return the queries that are not among some known ones, in their order.

    >>> one, two = JudgedQuery("1", "a", {}), JudgedQuery("2", "b", {})
    >>> without([one, two], [one]) == [two]
    True
    """
    ids = {query.id for query in known}
    return [query for query in queries if query.id not in ids]
