"""The queries of a training that a run of a teacher has, with their scored documents."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.collections.trec import read_run
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.progress import warn
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.ground.errors import InputError
from ranklet.training.learning.options import TaughtOptions
from ranklet.training.sampling.negatives import (
    DEPTH,
    NEGATIVES,
    Numbers,
    bm25_negatives,
    random_pools,
    relevant_numbers,
)

DIGITS = 16  # of a digest in a report
Run = Mapping[str, Mapping[str, float]]  # a teacher's scores by query id and document id
# Queries, and for each the documents that a positive and negatives are drawn from.
Pools = tuple[list[JudgedQuery], list[Numbers], list[Numbers]]


class TaughtQuery(NamedTuple):
    """A query with a document to learn from and others, all with a teacher's scores.

    Documents are numbers in the collection.

    Attributes:
        query: a query that both the run and the training have.
        relevant: the documents that are judged relevant in the collection.
        positives: the relevant documents that have a score, or else the candidate with the best
            score.
        negatives: the other candidates; none of them is judged relevant.
        candidates: all documents with a score, ascending.
        scores: the candidates' scores, (candidates,) float32.
    """

    query: JudgedQuery
    relevant: Numbers
    positives: Numbers
    negatives: Numbers
    candidates: Numbers
    scores: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TaughtQueries:
    """The queries that both a run and a training have, and facts about the teacher."""

    queries: list[TaughtQuery]
    facts: Mapping[str, Any]

    @property
    def pools(self) -> Pools:
        """The queries, and what their documents are drawn from."""
        rows = self.queries
        return (
            [each.query for each in rows],
            [each.positives for each in rows],
            [each.negatives for each in rows],
        )

    def of(self, queries: Numbers, documents: Numbers) -> NDArray[np.float32]:
        """Return the scores of documents of some queries, (queries, documents) float32 each."""
        rows = zip([self.queries[at] for at in queries.tolist()], documents, strict=True)
        found = [each.scores[np.searchsorted(each.candidates, own)] for each, own in rows]
        return np.stack(found)


def read_taught(
    options: TaughtOptions, collection: Collection, queries: JudgedQueries
) -> TaughtQueries | None:
    """Match the options' run to some queries; None without one.

    Raises:
        CollectionError: the run cannot be read.
        InputError: it has no scores for these queries.
    """
    if options.teacher is None:
        return None
    return match(read_run(options.teacher), collection, queries, options.teacher)


def pools(
    taught: TaughtQueries | None,
    analysed: AnalysedCollection,
    queries: JudgedQueries,
    retriever: Retriever,
    source: str,
    *,
    seed: int,
    depth: int = DEPTH,
    count: int = NEGATIVES,
) -> Pools:
    """Return the taught queries, or judged ones with negatives of BM25, or of `source` "random".

    Raises:
        InputError: no query has a relevant document in the collection.
    """
    if taught is not None:
        return taught.pools
    usable, relevant = relevant_numbers(list(analysed.documents.ids), queries)
    if source == "random":
        chosen = random_pools(len(analysed.documents), relevant, count=count, seed=seed)
    else:
        chosen = bm25_negatives(
            analysed, usable, relevant, retriever, depth=depth, count=count, seed=seed
        )
    return usable, relevant, chosen


def match(
    run: Run, collection: Collection, queries: JudgedQueries, path: str | Path
) -> TaughtQueries:
    """Match a teacher's run to the training queries; warn about mismatches.

    Args:
        run: the teacher's scores by query id and document id.
        collection: the documents.
        queries: the training's queries.
        path: the run's path.

    Raises:
        InputError: no query can be learned from.
    """
    number_of = {each.id: number for number, each in enumerate(collection.documents())}
    usable = [
        scored
        for query in queries
        if (scored := _read_scores(run.get(query.id, {}), query, number_of)) is not None
    ]
    if not usable:
        raise InputError(
            f"the run {str(path)!r} has no query that this training can learn from; give one of "
            "this collection and split, which `ranklet eval --runs` writes"
        )
    lacking = sorted({name for scores in run.values() for name in scores} - number_of.keys())
    if lacking:
        warn(
            f"{str(path)!r} has {len(lacking):,} documents that the collection lacks; the first is "
            f"{lacking[0]!r}"
        )
    known = {each.query.id for each in usable}
    without = [query.id for query in queries if query.id not in known]
    if without:
        warn(
            f"{len(without):,} of {len(queries):,} queries are left out, because {str(path)!r} has "
            f"no two documents of them to compare; the first is {without[0]!r}"
        )
    return TaughtQueries(usable, _facts(usable, run, path))


def _read_scores(
    scores: Mapping[str, float], query: JudgedQuery, number_of: Mapping[str, int]
) -> TaughtQuery | None:
    """Return what a run has of a query; None unless it has two documents to compare."""
    known = sorted((number_of[name], score) for name, score in scores.items() if name in number_of)
    own = np.array([number for number, _ in known], np.int64)
    values = np.array([score for _, score in known], np.float32)
    relevant = np.array(
        sorted(number_of[name] for name in query.relevant if name in number_of), np.int64
    )
    positives = np.intersect1d(own, relevant)
    if not len(positives) and len(own):
        positives = own[[np.argmax(values)]]
    negatives = np.setdiff1d(own, np.concatenate([relevant, positives]))
    if not len(negatives):
        return None
    return TaughtQuery(query, relevant, positives, negatives, own, values)


def _facts(found: Sequence[TaughtQuery], run: Run, path: str | Path) -> dict[str, Any]:
    """Return facts about the teacher for a report, with the mean size of its margins."""
    margins = [
        each.scores[np.isin(each.candidates, each.positives)].mean()
        - each.scores[np.isin(each.candidates, each.negatives)]
        for each in found
    ]
    return {
        "run": str(path),
        "queries": len(found),
        "pairs": sum(len(each.scores) for each in found),
        "mean_margin": round(float(np.mean(np.abs(np.concatenate(margins)))), 3),
        "digest": hashlib.sha256(repr(run).encode()).hexdigest()[:DIGITS],
    }
