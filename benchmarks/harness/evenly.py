"""Some of many: queries that are evenly spread, and documents that are drawn at random."""

import numpy as np

from ranklet.corpus.collections.collection import Collection, Document
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.runtime.ground.sets import evenly


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


def drawn(documents: list[Document], needed: set[str], most: int) -> list[Document]:
    """Return the documents that are needed, and others at random up to `most`, in their order.

    >>> documents = [Document(str(at), "", "") for at in range(9)]
    >>> [each.id for each in drawn(documents, {"3", "7"}, 2)]
    ['3', '7']
    >>> len(drawn(documents, {"3", "7"}, 5)), len(drawn(documents, {"3"}, 0))
    (5, 9)
    """
    if not most:
        return documents
    others = [at for at, each in enumerate(documents) if each.id not in needed]
    room = max(0, most - (len(documents) - len(others)))
    order = np.random.default_rng(0).permutation(len(others))[:room]
    kept = {others[at] for at in order.tolist()}
    return [each for at, each in enumerate(documents) if each.id in needed or at in kept]
