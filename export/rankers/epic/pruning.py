"""How much of a document's sparse vector is kept, and what that costs (paper 003, §3)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from ranklet.export.proof.report import Report, compare_scores
from ranklet.runtime.lexical.sparse_store import SparseQuery, SparseStore, prune, store_of_rows

LADDER = (50, 100, 200, 500, 1000, 2000, 5000)  # values of r that are measured
NEXT_TO_NOTHING = 0.005  # of nDCG@10, which `auto` may lose
VALUE_BYTES = 4  # a 16-bit term and a 16-bit value
FLOOR = 0.5  # quantile
COMMON = 0.25  # exponent


def term_floors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what each term's impacts are counted from, (vocabulary,) float32.

    It is what half of the documents give the term: ours, not the paper's, which prunes φ_d as it
    is. Nearly all values of a φ_d are above 0, and the largest are often large in every document;
    above floors the r that are kept tell documents apart (docs/LOG.md: r = 1000 lost 1.6 % of
    nDCG@10, and 0.2 % so). Taken from all documents, a floor changes no order by itself.

    Args:
        vectors: φ_d of some documents, ≥ 0, (documents, vocabulary) float32.

    >>> term_floors(np.array([[0, 1], [0, 3], [2, 8]], np.float32)).tolist()
    [0.0, 3.0]
    """
    return np.quantile(vectors, FLOOR, axis=0).astype(np.float32)


def term_priorities(documents: Sequence[Sequence[int]], vocabulary: int) -> NDArray[np.float32]:
    """Return what a term's values are multiplied by where vectors are pruned, (vocabulary,).

    It is (1 + n)^¼, n the documents whose text has the term: ours, not the paper's, which keeps the
    largest values. Terms that texts have are asked for more often than others, and a value that is
    not asked for is kept for nothing (docs/LOG.md, where also stands what it costs).

    Args:
        documents: terms of some.
        vocabulary: of how many there are.

    >>> term_priorities([[0, 1], [1]] * 15 + [[1]] * 50, 3).tolist()
    [2.0, 3.0, 1.0]
    """
    held = np.zeros(vocabulary, np.int64)
    for each in documents:
        held[np.unique(np.array(each, np.int64))] += 1
    return np.asarray((1.0 + held) ** COMMON, np.float32)


def pruning_reports(
    reference: NDArray[np.float32],
    vectors: NDArray[np.float32],
    queries: Sequence[SparseQuery],
    relevant: Sequence[Sequence[int]],
    kept: int | None,
    priorities: NDArray[np.float32],
) -> list[Report]:
    """Return how each r ranks the probes, ascending; the last keeps all that is above 0.

    Args:
        reference: scores of φ_d itself less the floors, values below 0 included, (queries,
            documents) float32: so that leaving these out is part of what is measured.
        vectors: of the documents above the floors, ≥ 0, (documents, vocabulary) float32.
        queries: their vectors.
        relevant: for each query, the places of its relevant documents.
        kept: one more r to measure; None for no other.
        priorities: of terms, (vocabulary,) float32.
    """
    everything = vectors.shape[1]
    reports = []
    for r in sorted({min(r, everything) for r in (*LADDER, kept or everything, everything)}):
        store = store_of_rows(prune(vectors, r, priorities))
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


def fewest(reports: Sequence[Report]) -> int:
    """Return the least r from which on all lose next to nothing; the largest where none does.

    A small r can do well by chance: where a larger one does not, it does not count.

    Args:
        reports: of each r, ascending.
    """
    losing = [at for at, each in enumerate(reports) if each.ndcg_loss > NEXT_TO_NOTHING]
    chosen = reports[min(losing[-1] + 1 if losing else 0, len(reports) - 1)]
    return int(chosen.variant.removeprefix("r="))


def sparse_scores(store: SparseStore, queries: Sequence[SparseQuery]) -> NDArray[np.float32]:
    """Return dot products as they are served, (queries, documents) float32."""
    everything = np.arange(len(store))
    return _scores(queries, lambda terms: store.impacts(terms, everything), len(store))


def scores_of(
    queries: Sequence[SparseQuery], terms: NDArray[np.integer], values: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return dot products with documents of which some terms are known, (queries, documents).

    Args:
        queries: whose terms are all among `terms`.
        terms: ascending, (terms,).
        values: of the documents, (documents, terms) float32.
    """
    return _scores(queries, lambda own: values[:, np.searchsorted(terms, own)].T, len(values))


def _scores(
    queries: Sequence[SparseQuery],
    impacts: Callable[[NDArray[np.int32]], NDArray[np.float32]],
    documents: int,
) -> NDArray[np.float32]:
    found = np.zeros((len(queries), documents), np.float32)
    for row, (terms, weights) in zip(found, queries, strict=True):
        row[:] = weights.astype(np.float64) @ impacts(terms)
    return found
