"""Draw the batches of an epoch, and the documents of their queries.

All draws are a function of seed and epoch, so a resumed training draws the same batches.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError
from ranklet.training.sampling.negatives import Numbers

WINDOW = 50  # batches whose items are sorted by length together

# Streams of random numbers; 0 and 1 are in `negatives`.
_DRAW, _ORDER, _SEVERAL = 2, 3, 4

NOTHING_TO_LEARN_FROM = (
    "a query has no document to learn from; the collection needs relevant documents and others"
)


def draw_documents(
    relevant: Sequence[Numbers], others: Sequence[Numbers], count: int, seed: int, epoch: int
) -> Numbers:
    """Draw one relevant document and `count` others per query; (queries, 1 + count) int64."""
    return np.column_stack([draw(relevant, seed, epoch), draw_several(others, count, seed, epoch)])


def draw(pools: Sequence[Numbers], seed: int, epoch: int, stream: int = 0) -> Numbers:
    """Draw one document from each pool, another in each epoch; (pools,) int64.

    The number of the stream distinguishes several draws in one epoch.

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
    """Draw `count` different documents from each pool, others in each epoch; (pools, count) int64.

    A smaller pool repeats some.

    Raises:
        InputError: a pool is empty.
    """
    if not pools or not all(map(len, pools)):
        raise InputError(NOTHING_TO_LEARN_FROM)
    rng = np.random.default_rng((seed, _SEVERAL, epoch))
    return np.stack([np.resize(rng.permutation(pool), count) for pool in pools])


class Batch(NamedTuple):
    """Queries, and the documents that each is compared with, a relevant one first."""

    queries: Numbers  # (batch,) int64
    documents: Numbers  # (batch, documents) int64


def query_batches(
    documents: Numbers, lengths: NDArray[np.integer], size: int, seed: int, epoch: int
) -> list[Batch]:
    """Return an epoch's batches of queries with their rows of documents; see `batches`."""
    return [Batch(rows, documents[rows]) for rows in batches(lengths, size, seed, epoch)]


def batches(
    lengths: NDArray[np.integer], size: int, seed: int, epoch: int, *, window: int = WINDOW
) -> list[Numbers]:
    """Cut items into batches of similar length, in another order in each epoch.

    Items are shuffled, then sorted by length within windows of some batches, so that little of a
    batch is padding. Then the batches are shuffled.

    Args:
        lengths: lengths of the items, (items,).
        size: items per batch; the last batch of the last window may have fewer.
        seed: random seed of the training.
        epoch: the number of the epoch, from 0.
        window: batches per window; 1 for batches drawn at random.
    """
    rng = np.random.default_rng((seed, _ORDER, epoch))
    order = rng.permutation(len(lengths))
    cut: list[Numbers] = []
    for begin in range(0, len(order), size * window):
        here = order[begin : begin + size * window]
        here = here[np.argsort(lengths[here], kind="stable")]
        cut += [here[at : at + size] for at in range(0, len(here), size)]
    return [cut[at] for at in rng.permutation(len(cut))]
