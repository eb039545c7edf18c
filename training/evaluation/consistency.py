"""Measure how much of what a pipeline finds is also found by a baseline (Zhan et al., eq. 5).

A reranker that was trained on the baseline's candidates has never seen the other documents.
"""

from collections.abc import Mapping

import numpy as np

from ranklet.training.evaluation.systems import Hits

REFERENCE_DEPTH = 1000  # ranks of the baseline that count


class Consistency:
    """C_{f,n} of all pipelines but the first, which is the baseline, counted query by query.

    Args:
        n: number of a pipeline's documents that count, at least 1.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._shares: dict[str, list[float]] = {}

    def add(self, _: str, rankings: Mapping[str, Hits]) -> None:
        """Count a query; where a pipeline finds nothing, the query is skipped.

        Args:
            _: the query's id, which a watcher of `evaluate` gets.
            rankings: the hits by pipeline, the baseline first.
        """
        baseline, *others = rankings
        for name in others:
            shares = self._shares.setdefault(name, [])
            if rankings[name]:
                shares.append(share(rankings[name], rankings[baseline], self._n))

    def means(self) -> dict[str, float]:
        """Return the mean share over the queries by pipeline, 0 without a query."""
        return {
            name: float(np.mean(shares)) if shares else 0.0 for name, shares in self._shares.items()
        }


def share(hits: Hits, reference: Hits, n: int) -> float:
    """Return the share of the first n hits that are among the first 1,000 of a reference.

    Args:
        hits: hits of the retriever f, (document id, score), best first; there is at least one.
        reference: the same of the baseline.
        n: number of hits that count, at least 1.

    >>> share([("a", 2.0), ("b", 1.0)], [("b", 9.0)], 2)
    0.5
    """
    top = {name for name, _ in hits[:n]}
    known = {name for name, _ in reference[:REFERENCE_DEPTH]}
    return len(top & known) / len(top)
