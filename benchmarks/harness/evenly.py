"""Some of many queries, evenly spread over all of them or over those that chose nothing."""

import numpy as np

from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split


def evenly(count: int, most: int) -> list[int]:
    """Return the numbers of at most `most` queries, evenly spread over `count`.

    Queries stand in the order of their sources, so the first ones are of one kind.

    >>> evenly(10, 4), evenly(3, 9)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    numbers: list[int] = np.linspace(0, count - 1, min(most, count)).astype(int).tolist()
    return numbers


def unseen(collection: Collection, split: str, *, chose: int, most: int) -> list[JudgedQuery]:
    """Return queries of a split, evenly spread, without those that chose between weights.

    Args:
        collection: with the split.
        split: held out from the training.
        chose: queries that the training drew of it, at most, by the seed that `read_split` has.
        most: queries.
    """
    ids = {query.id for query in read_split(collection, split, limit=chose)}
    rest = [query for query in read_split(collection, split) if query.id not in ids]
    return [rest[at] for at in evenly(len(rest), most)]
