"""Some dev queries with candidates from BM25, for a quick measure during training."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.sampling.negatives import Numbers, relevant_numbers


class CandidateLists:
    """Queries with the documents that are reranked for each.

    Relevant documents are candidates even if BM25 does not find them, so the measure compares
    weights and is not for reports.

    Args:
        analysed: the collection.
        queries: judged queries, of which some are drawn.
        retriever: a BM25 ranker.
        most: maximum number of queries.
        depth: candidates from BM25 per query.
        seed: random seed of the draw.

    Attributes:
        lists: each query with the numbers of its candidates, (candidates,) int64, and which of
            them are relevant, (candidates,) bool.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        *,
        most: int,
        depth: int,
        seed: int,
    ) -> None:
        usable, relevant = relevant_numbers(list(analysed.documents.ids), queries, "dev query")
        self.lists: list[tuple[JudgedQuery, Numbers, NDArray[np.bool_]]] = []
        for at in np.sort(np.random.default_rng(seed).permutation(len(usable))[:most]).tolist():
            query = QueryContext(usable[at].text, analysed.analyzer.begin())
            retrieved = retriever.retrieve(query, depth).numbers
            others = np.setdiff1d(retrieved.astype(np.int64), relevant[at])
            numbers = np.concatenate([others, relevant[at]])
            self.lists.append((usable[at], numbers, np.isin(numbers, relevant[at])))

    def mrr(self, scores: NDArray[np.float32]) -> float:
        """Return MRR@10 of reranking; a tie counts against the relevant document.

        Args:
            scores: scores of all candidates, list after list, float32.
        """
        ends = np.cumsum([len(numbers) for _, numbers, _ in self.lists])
        by_list = np.split(scores, ends[:-1])
        relevant = [relevant for _, _, relevant in self.lists]
        return float(np.mean(list(map(reciprocal_rank, by_list, relevant))))


def reciprocal_rank(scores: NDArray[np.float32], relevant: NDArray[np.bool_]) -> float:
    """Return 1 / rank of the best relevant document, or 0 beyond rank 10; it loses ties.

    >>> reciprocal_rank(np.array([3.0, 1.0, 1.0], np.float32), np.array([False, False, True]))
    0.3333333333333333

    Args:
        scores: (documents,) float32.
        relevant: (documents,) bool, at least one True.
    """
    rank = 1 + int((~relevant & (scores >= scores[relevant].max())).sum())
    return 1 / rank if rank <= 10 else 0.0
