"""What each stored form of token vectors costs, against vectors in 32 bits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.export.proof.report import Report, compare_scores
from ranklet.runtime.dense.maxsim import TokenStore, pooled, quantise_query
from ranklet.runtime.rankers.colbert.settings import STORED

Vectors = Sequence[NDArray[np.float32]]  # of each text, (its tokens, dimension)


def float_scores(queries: Vectors, documents: Vectors) -> NDArray[np.float32]:
    """Return MaxSim of all pairs by vectors in 32 bits, (queries, documents) float32."""
    owner = np.repeat(np.arange(len(queries)), [len(query) for query in queries])
    tokens = np.concatenate(queries)
    scores = np.zeros((len(queries), len(documents)), np.float32)
    for at, document in enumerate(documents):
        if len(document):
            best = (tokens @ document.T).max(1)
            scores[:, at] = np.bincount(owner, best, len(queries))
    return scores


def form_reports(
    queries: Vectors,
    documents: Vectors,
    groups: Sequence[Sequence[Sequence[int]]],
    relevant: Sequence[Sequence[int]],
) -> list[Report]:
    """Return how each stored form ranks the probes, next to vectors in 32 bits.

    Args:
        queries: PyTorch's vectors of the queries.
        documents: PyTorch's vectors of the documents.
        groups: for each document, which of its vectors share one if they are pooled.
        relevant: indices of the relevant documents of each query.
    """
    reference = float_scores(queries, documents)
    by_groups = [pooled(own, group) for own, group in zip(documents, groups, strict=True)]
    reports = []
    for form, element in STORED.items():
        vectors = by_groups if form.endswith("-pooled") else documents
        store = TokenStore.of(vectors, element, queries[0].shape[1])
        everything = np.arange(len(store))
        scores = np.stack(
            [store.scores(quantise_query(query, element), everything) for query in queries]
        )
        size = round(bytes_of(store) / max(1, len(store)))
        reports.append(compare_scores(f"stored {form}", size, reference, scores, relevant))
    return reports


def bytes_of(store: TokenStore) -> int:
    """Return how many bytes the vectors of a store take, with factors and offsets."""
    return int(store.vectors.values.nbytes + store.vectors.scales.nbytes + store.offsets.nbytes)
