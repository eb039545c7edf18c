"""How much of a document's sparse vector is kept, and what that costs (paper 003, §3)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from ranklet.export.report import Report, compare_scores
from ranklet.runtime.lexical.sparse_store import SparseQuery, SparseStore, prune, store_of_rows

LADDER = (50, 100, 200, 500, 1000, 2000, 5000)  # values of r that are measured
NEXT_TO_NOTHING = 0.005  # of nDCG@10, which `auto` may lose
VALUE_BYTES = 4  # a 16-bit term and a 16-bit value


def pruning_reports(
    whole: NDArray[np.float32],
    queries: Sequence[SparseQuery],
    relevant: Sequence[Sequence[int]],
    kept: int | None,
) -> list[Report]:
    """Return how each r ranks the probes beside the whole vectors, ascending.

    Args:
        whole: vectors of the documents, (documents, vocabulary) float32.
        queries: their vectors.
        relevant: for each query, the places of its relevant documents.
        kept: one more r to measure; None for no other.
    """
    reference = whole_scores(whole, queries)
    ladder = sorted({r for r in (*LADDER, kept or 0) if 0 < r < whole.shape[1]}) or [whole.shape[1]]
    reports = []
    for r in ladder:
        store = store_of_rows(prune(whole, r))
        scores = sparse_scores(store, queries)
        reports.append(
            Report(
                variant=f"r={r}",
                pairs=scores.size,
                batch_error=0.0,
                bytes=round(VALUE_BYTES * len(store.terms) / len(store)),
                ms=0.0,
                fused={},
                **asdict(compare_scores(reference, scores, relevant)),
            )
        )
    return reports


def fewest(reports: Sequence[Report], vocabulary: int) -> int:
    """Return the least r that loses next to nothing, the whole vocabulary where each loses more."""
    good = [each for each in reports if each.ndcg_loss <= NEXT_TO_NOTHING]
    return int(good[0].variant.removeprefix("r=")) if good else vocabulary


def sparse_scores(store: SparseStore, queries: Sequence[SparseQuery]) -> NDArray[np.float32]:
    """Return dot products as they are served, (queries, documents) float32."""
    everything = np.arange(len(store))
    return _scores(queries, lambda terms: store.impacts(terms, everything), len(store))


def whole_scores(whole: NDArray[np.float32], queries: Sequence[SparseQuery]) -> NDArray[np.float32]:
    """Return dot products with vectors that are not pruned, (queries, documents) float32."""
    return _scores(queries, lambda terms: whole[:, terms].T, len(whole))


def _scores(
    queries: Sequence[SparseQuery],
    impacts: Callable[[NDArray[np.int32]], NDArray[np.float32]],
    documents: int,
) -> NDArray[np.float32]:
    found = np.zeros((len(queries), documents), np.float32)
    for row, (terms, weights) in zip(found, queries, strict=True):
        row[:] = weights.astype(np.float64) @ impacts(terms)
    return found
