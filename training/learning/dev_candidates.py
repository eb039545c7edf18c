"""A few dev queries with candidates out of BM25: a quick measure while training."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.negatives import Numbers, relevant_numbers


class CandidateLists:
    """Queries and what is reranked for each.

    Relevant documents that BM25 did not find stand among the candidates, so that there is something
    to find; the measure is for comparing weights, not for reporting.

    Args:
        analysed: the collection.
        queries: judged ones; some are drawn.
        retriever: BM25.
        most: queries.
        depth: candidates of BM25 a query.
        seed: of the draw.

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
        kept, relevant = relevant_numbers(list(analysed.documents.ids), queries, "dev query")
        self.lists: list[tuple[JudgedQuery, Numbers, NDArray[np.bool_]]] = []
        for at in np.sort(np.random.default_rng(seed).permutation(len(kept))[:most]).tolist():
            asked = QueryContext(kept[at].text, analysed.analyzer.begin())
            found = retriever.retrieve(asked, depth).numbers
            others = np.setdiff1d(found.astype(np.int64), relevant[at])
            numbers = np.concatenate([others, relevant[at]])
            self.lists.append((kept[at], numbers, np.isin(numbers, relevant[at])))

    def mrr(self, scores: NDArray[np.float32]) -> float:
        """Return MRR@10 of reranking; a tie counts against the relevant document.

        Args:
            scores: of all lists, end to end, float32.
        """
        ends = np.cumsum([len(numbers) for _, numbers, _ in self.lists])
        by_list = np.split(scores, ends[:-1])
        relevant = [relevant for _, _, relevant in self.lists]
        return float(np.mean(list(map(reciprocal_rank, by_list, relevant))))


def reciprocal_rank(scores: NDArray[np.float32], relevant: NDArray[np.bool_]) -> float:
    """Return 1 / the rank of the best relevant document, 0 past 10; a tie counts against it.

    >>> reciprocal_rank(np.array([3.0, 1.0, 1.0], np.float32), np.array([False, False, True]))
    0.3333333333333333

    Args:
        scores: (documents,) float32.
        relevant: (documents,), at least one.
    """
    rank = 1 + int((~relevant & (scores >= scores[relevant].max())).sum())
    return 1 / rank if rank <= 10 else 0.0
