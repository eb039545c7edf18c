"""Documents that a query is learned with: those relevant to it, and negatives.

All draws are a function of the seed: a training that was interrupted draws the same again.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

Numbers = NDArray[np.int64]  # of documents or queries

DEPTH = 500  # of BM25's ranking, that negatives come from (paper 000, §4.1)
NEGATIVES = 20  # kept for each query (paper 000, §4.1)

# Streams of random numbers: what is drawn for one purpose does not shift what another draws.
# `batches` has those from 2 on.
_KEEP, _FILL = 0, 1


def relevant_numbers(
    ids: Sequence[str], queries: Sequence[JudgedQuery], name: str = "query"
) -> tuple[list[JudgedQuery], list[Numbers]]:
    """Return the queries with a relevant document in the collection, and those documents.

    Args:
        ids: of the documents, in the order of their numbers.
        queries: judged ones.
        name: what an error calls a query.

    Raises:
        InputError: no query has one.
    """
    number = {name: at for at, name in enumerate(ids)}
    kept, relevant = [], []
    for query in queries:
        found = sorted(number[name] for name in query.relevant if name in number)
        if found:
            kept.append(query)
            relevant.append(np.array(found, np.int64))
    if not kept:
        raise InputError(f"no {name} has a relevant document in the collection")
    return kept, relevant


def bm25_negatives(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[Numbers],
    retriever: Retriever,
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
        ranked = retriever.retrieve(
            QueryContext(query.text, analysed.analyzer.begin()), depth
        ).numbers
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
    retriever: Retriever,
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


def known_positives(relevant: Sequence[Numbers], documents: Numbers) -> NDArray[np.bool_]:
    """Tell which documents of a batch are relevant to which of its queries.

    Args:
        relevant: of each query, (its relevant documents,) int64.
        documents: of the batch, (documents,) int64.

    Returns:
        (queries, documents) bool.
    """
    return np.array([np.isin(documents, known) for known in relevant])
