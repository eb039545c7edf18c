"""What a neural ranker learns from in each epoch: positives, negatives, batches.

All of it is a function of (seed, epoch): a training that was interrupted draws the same again.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.protocol import QueryContext, Ranker
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

Numbers = NDArray[np.int64]  # of documents or queries

DEPTH = 500  # of BM25's ranking, that negatives come from (paper 000, §4.1)
NEGATIVES = 20  # kept for each query (paper 000, §4.1)
WINDOW = 50  # batches whose items are sorted by length together

# Streams of random numbers: what is drawn for one purpose does not shift what another draws.
_KEEP, _FILL, _DRAW, _ORDER, _SEVERAL = range(5)

NOTHING_TO_LEARN_FROM = (
    "there is a query without a document to learn from; the collection needs relevant documents "
    "and others"
)


def relevant_numbers(
    ids: Sequence[str], queries: Sequence[JudgedQuery]
) -> tuple[list[JudgedQuery], list[Numbers]]:
    """Return the queries with a relevant document in the collection, and those documents.

    Args:
        ids: of the documents, in the order of their numbers.
        queries: judged ones.
    """
    number = {name: at for at, name in enumerate(ids)}
    kept, relevant = [], []
    for query in queries:
        found = sorted(number[name] for name in query.relevant if name in number)
        if found:
            kept.append(query)
            relevant.append(np.array(found, np.int64))
    return kept, relevant


def bm25_negatives(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[Numbers],
    retriever: Ranker,
    *,
    depth: int = DEPTH,
    count: int = NEGATIVES,
    seed: int = 0,
) -> list[Numbers]:
    """Keep some documents for each query that BM25 ranks high and that are not relevant.

    Where BM25 finds too few, random documents fill up.

    Args:
        analysed: the collection.
        queries: those to find negatives for.
        relevant: their relevant documents.
        retriever: BM25.
        depth: ranks that the negatives come from.
        count: negatives to keep for each query.
        seed: of the choice.

    Returns:
        For each query the numbers of up to `count` documents, (negatives,) int64; fewer only where
        the collection has no more.
    """
    kept = []
    for at, query in enumerate(progress(queries, "BM25 negatives")):
        rng = np.random.default_rng((seed, _KEEP, at))
        ranked, _ = retriever.retrieve(QueryContext(query.text, analysed.analyzer.begin()), depth)
        found = np.setdiff1d(ranked.astype(np.int64), relevant[at])
        chosen = rng.permutation(found)[:count]
        if len(chosen) < count:
            known = np.concatenate([relevant[at], chosen])
            fill = random_negatives(len(analysed.documents), known, count - len(chosen), rng)
            chosen = np.concatenate([chosen, fill])
        kept.append(chosen)
    return kept


def random_negatives(
    documents: int, known: Numbers, count: int, rng: np.random.Generator
) -> Numbers:
    """Return up to `count` different documents of the collection that are not `known`; int64."""
    drawn = rng.permutation(documents) if documents <= 4 * (count + len(known)) else None
    if drawn is None:  # few of many: drawing too many and dropping some costs next to nothing
        drawn = rng.choice(documents, 2 * (count + len(known)), replace=False, shuffle=True)
    return drawn[~np.isin(drawn, known)][:count].astype(np.int64)


def random_pools(
    documents: int, relevant: Sequence[Numbers], *, count: int = NEGATIVES, seed: int = 0
) -> list[Numbers]:
    """Keep `count` random documents for each query that are not relevant to it."""
    return [
        random_negatives(documents, known, count, np.random.default_rng((seed, _FILL, at)))
        for at, known in enumerate(relevant)
    ]


def negative_pools(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[Numbers],
    retriever: Ranker,
    source: str,
    *,
    seed: int,
    depth: int = DEPTH,
    count: int = NEGATIVES,
) -> list[Numbers]:
    """Keep other documents for each query: by `random_pools`, or else by `bm25_negatives`."""
    if source == "random":
        return random_pools(len(analysed.documents), relevant, count=count, seed=seed)
    return bm25_negatives(
        analysed, queries, relevant, retriever, depth=depth, count=count, seed=seed
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


def known_positives(relevant: Sequence[Numbers], documents: Numbers) -> NDArray[np.bool_]:
    """Tell which documents of a batch are relevant to which of its queries.

    Args:
        relevant: of each query, (its relevant documents,) int64.
        documents: of the batch, (documents,) int64.

    Returns:
        (queries, documents) bool.
    """
    return np.array([np.isin(documents, known) for known in relevant])
