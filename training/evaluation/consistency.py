"""How much of what a retriever finds another retriever finds, too (paper 004, §5.4)."""

from collections.abc import Mapping, Sequence

import numpy as np

REFERENCE_DEPTH = 1000  # of the other's ranking (paper 004, eq. 5)

Ranked = Mapping[str, Sequence[tuple[str, float]]]  # query id → (document id, score), best first


def consistency(run: Ranked, reference: Ranked, n: int) -> float:
    """Return C_{f,n}: the mean share of a run's top n that the reference ranks (paper 004, eq. 5).

    A reranker that was trained on the reference's candidates meets the others for the first time.
    A query for which the run has no document counts with none; it has no share to speak of.

    Args:
        run: of the retriever f.
        reference: of BM25; its first 1,000 documents a query count.
        n: documents of the run that count, from 1.

    >>> consistency({"q": [("a", 2.0), ("b", 1.0)]}, {"q": [("b", 9.0)]}, 2)
    0.5
    """
    shares = []
    for query, hits in run.items():
        top = {name for name, _ in hits[:n]}
        known = {name for name, _ in reference.get(query, ())[:REFERENCE_DEPTH]}
        if top:
            shares.append(len(top & known) / len(top))
    return float(np.mean(shares)) if shares else 0.0
