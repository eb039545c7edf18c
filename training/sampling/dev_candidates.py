"""Some dev queries with candidates from BM25, for a quick measure during training."""

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.training.learning.options import TrainingOptions
from ranklet.training.outcome import Lists
from ranklet.training.sampling.negatives import Numbers, relevant_numbers

DEV_QUERIES, DEV_CANDIDATES = 100, 20  # 2,000 pairs, 10 to 15 s on two cores
CUTOFF = 10  # ranks that count
MEASURE = f"MRR@{CUTOFF} of reranking BM25's top {DEV_CANDIDATES} and relevant documents"


class CandidateLists:
    """Queries with the documents that are reranked for each.

    Relevant documents are candidates even if BM25 does not find them, so the measure compares
    weights and is not for reports.

    Attributes:
        lists: each query with the numbers of its candidates, (candidates,) int64, and which of
            them are relevant, (candidates,) bool.
        measured: the measure, the number of queries, and the value of BM25's own order.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: JudgedQueries,
        retriever: Retriever,
        options: TrainingOptions,
    ) -> None:
        usable, relevant = relevant_numbers(list(analysed.documents.ids), queries, "dev query")
        self.lists: list[tuple[JudgedQuery, Numbers, NDArray[np.bool_]]] = []
        by_bm25 = []
        drawn = np.random.default_rng(options.seed).permutation(len(usable))
        drawn = drawn[: options.shorten(DEV_QUERIES)]
        for at in np.sort(drawn).tolist():
            query = QueryContext(usable[at].text, analysed.analyzer.begin())
            retrieved = retriever.retrieve(query, DEV_CANDIDATES).numbers.astype(np.int64)
            others = np.setdiff1d(retrieved, relevant[at])
            numbers = np.concatenate([others, relevant[at]])
            self.lists.append((usable[at], numbers, np.isin(numbers, relevant[at])))
            found = np.flatnonzero(np.isin(retrieved[:CUTOFF], relevant[at]))
            by_bm25.append(1 / (1 + int(found[0])) if len(found) else 0.0)
        self.measured = Lists(MEASURE, len(self.lists), float(np.mean(by_bm25)))

    def reciprocal_ranks(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return each query's 1 / rank after reranking, (queries,), 0 beyond rank 10.

        Args:
            scores: the scores of all candidates, list after list, float32.
        """
        ends = np.cumsum([len(numbers) for _, numbers, _ in self.lists])
        by_list = np.split(scores, ends[:-1])
        relevant = [relevant for _, _, relevant in self.lists]
        return np.array(list(map(reciprocal_rank, by_list, relevant)))


def reciprocal_rank(scores: NDArray[np.float32], relevant: NDArray[np.bool_]) -> float:
    """Return 1 / rank of the best relevant document, or 0 beyond rank 10; it loses ties.

    >>> reciprocal_rank(np.array([3.0, 1.0, 1.0], np.float32), np.array([False, False, True]))
    0.3333333333333333
    """
    rank = 1 + int((~relevant & (scores >= scores[relevant].max())).sum())
    return 1 / rank if rank <= CUTOFF else 0.0
