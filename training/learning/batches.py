"""The batches of an epoch, and the documents drawn for its queries.

All draws are a function of (seed, epoch): a training that was interrupted draws the same again.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.learning.negatives import Numbers

WINDOW = 50  # batches whose items are sorted by length together

# Streams of random numbers, as in `negatives`, which has 0 and 1.
_DRAW, _ORDER, _SEVERAL = 2, 3, 4

NOTHING_TO_LEARN_FROM = (
    "there is a query without a document to learn from; the collection needs relevant documents "
    "and others"
)


def draw_documents(
    relevant: Sequence[Numbers], others: Sequence[Numbers], each: int, seed: int, epoch: int
) -> Numbers:
    """Draw a relevant document a query and `each` others; (queries, 1 + each) int64."""
    return np.column_stack([draw(relevant, seed, epoch), draw_several(others, each, seed, epoch)])


def draw(pools: Sequence[Numbers], seed: int, epoch: int, stream: int = 0) -> Numbers:
    """Draw one of each pool, anew in each epoch; (pools,) int64.

    Args:
        pools: documents to draw from, none empty.
        seed: of the training.
        epoch: from 0.
        stream: tells draws of one epoch apart.

    Raises:
        InputError: a pool is empty.
    """
    sizes = np.array([len(pool) for pool in pools])
    if not len(sizes) or not sizes.all():
        raise InputError(NOTHING_TO_LEARN_FROM)
    starts = np.cumsum(sizes) - sizes
    at = np.random.default_rng((seed, _DRAW, epoch, stream)).integers(0, sizes)
    drawn: Numbers = np.concatenate(pools)[starts + at]
    return drawn


def draw_several(pools: Sequence[Numbers], count: int, seed: int, epoch: int) -> Numbers:
    """Draw `count` different ones of each pool, anew in each epoch; (pools, count) int64.

    Where a pool has fewer, some come twice.

    Raises:
        InputError: a pool is empty.
    """
    if not pools or not all(map(len, pools)):
        raise InputError(NOTHING_TO_LEARN_FROM)
    rng = np.random.default_rng((seed, _SEVERAL, epoch))
    return np.stack([np.resize(rng.permutation(pool), count) for pool in pools])


def batches(
    lengths: NDArray[np.integer], size: int, seed: int, epoch: int, *, window: int = WINDOW
) -> list[Numbers]:
    """Cut items into batches of like length, in an order that is new in each epoch.

    Items are shuffled; those of `window` batches are then sorted by length, so that little of a
    batch is padding, and the batches are shuffled again.

    Args:
        lengths: of the items, (items,).
        size: items in a batch; the last of a window that is cut short has fewer.
        seed: of the training.
        epoch: from 0.
        window: batches sorted together; 1 for batches drawn at random.

    Returns:
        Item numbers, each item in one batch.
    """
    rng = np.random.default_rng((seed, _ORDER, epoch))
    order = rng.permutation(len(lengths))
    cut: list[Numbers] = []
    for begin in range(0, len(order), size * window):
        here = order[begin : begin + size * window]
        here = here[np.argsort(lengths[here], kind="stable")]
        cut += [here[at : at + size] for at in range(0, len(here), size)]
    return [cut[at] for at in rng.permutation(len(cut))]
