"""Choose the documents that a query is trained with: relevant ones and negatives.

All draws are a function of the seed, so a resumed training draws the same documents.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.progress import progress
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import InputError

Numbers = NDArray[np.int64]  # positions of documents or queries, from 0

DEPTH = 500  # ranks of BM25 that negatives come from (Boytsov & Kolter, §4.1)
NEGATIVES = 20  # negatives kept per query (Boytsov & Kolter, §4.1)

# Every purpose has its own stream of random numbers, so that one draw does not shift another.
# The streams from 2 on are in `batches`.
_KEEP, _FILL = 0, 1


def relevant_numbers(
    ids: Sequence[str], queries: Sequence[JudgedQuery], name: str = "query"
) -> tuple[list[JudgedQuery], list[Numbers]]:
    """Return the queries with a relevant document among `ids`, and these documents' numbers.

    `name` is what the error message calls a query.

    Raises:
        InputError: no query has a relevant document in the collection.
    """
    number_of = {id_: number for number, id_ in enumerate(ids)}
    usable, relevant = [], []
    for query in queries:
        numbers = sorted(number_of[id_] for id_ in query.relevant if id_ in number_of)
        if numbers:
            usable.append(query)
            relevant.append(np.array(numbers, np.int64))
    if not usable:
        raise InputError(f"no {name} has a relevant document in the collection")
    return usable, relevant


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
    """Choose `count` documents for each query that are not relevant, from BM25's best `depth`.

    If BM25 finds too few, random documents are added. So there are fewer than `count`,
    (negatives,) int64 per query, only if the collection has no more.
    """
    negatives = []
    for at, query in enumerate(progress(queries, "BM25 negatives")):
        rng = np.random.default_rng((seed, _KEEP, at))
        context = QueryContext(query.text, analysed.analyzer.begin())
        ranked = retriever.retrieve(context, depth).numbers
        candidates = np.setdiff1d(ranked.astype(np.int64), relevant[at])
        chosen = rng.permutation(candidates)[:count]
        if len(chosen) < count:
            excluded = np.concatenate([relevant[at], chosen])
            fill = random_negatives(len(analysed.documents), excluded, count - len(chosen), rng)
            chosen = np.concatenate([chosen, fill])
        negatives.append(chosen)
    return negatives


def random_negatives(
    documents: int, excluded: Numbers, count: int, rng: np.random.Generator
) -> Numbers:
    """Draw up to `count` different documents that are not excluded, (negatives,) int64."""
    needed = count + len(excluded)
    if documents <= 4 * needed:
        drawn = rng.permutation(documents)
    else:  # drawing some too many costs far less than permuting all
        drawn = rng.choice(documents, 2 * needed, replace=False, shuffle=True)
    return drawn[~np.isin(drawn, excluded)][:count].astype(np.int64)


def random_pools(
    documents: int, relevant: Sequence[Numbers], *, count: int = NEGATIVES, seed: int = 0
) -> list[Numbers]:
    """Choose `count` random documents for each query that are not relevant to it."""
    return [
        random_negatives(documents, numbers, count, np.random.default_rng((seed, _FILL, at)))
        for at, numbers in enumerate(relevant)
    ]


def mark_known_positives(relevant: Sequence[Numbers], documents: Numbers) -> NDArray[np.bool_]:
    """Return which documents are relevant to which query, (queries, documents) bool."""
    return np.array([np.isin(documents, numbers) for numbers in relevant])
