"""How many values of a sparse vector are kept, and what that costs (MacAvaney et al., §3)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import Report, compare_scores
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.lexical.sparse_store import SparseStore, prune, store_rows
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.learned_sparse import SparseEncoders, SparseSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


LADDER = (50, 100, 200, 500, 1000, 2000, 5000)  # values of r that are measured

Encoders = TypeVar("Encoders", bound=SparseEncoders)


def term_floors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the median of each term's values, (vocabulary,) float32.

    Impacts are counted from these floors. The paper prunes φ_d as it is, but nearly all values of a
    φ_d are above 0, and the largest are often large in every document, so they tell no documents
    apart. With floors r = 1000 lost 0.2 % of nDCG@10, without them 1.6 %
    (docs/maintainers/log). A floor is subtracted from all documents, so by itself it changes no
    order.

    Args:
        vectors: φ_d of some documents, ≥ 0, (documents, vocabulary) float32.

    >>> term_floors(np.array([[0, 1], [0, 3], [2, 8]], np.float32)).tolist()
    [0.0, 3.0]
    """
    return np.quantile(vectors, 0.5, axis=0).astype(np.float32)


def term_priorities(
    documents: Sequence[Sequence[int] | NDArray[np.integer]], vocabulary: int
) -> NDArray[np.float32]:
    """Return the factor of each term's values while vectors are pruned, (vocabulary,) float32.

    It is (1 + n)^¼ for a term that n documents have in their text. The paper keeps the largest
    values instead. Queries have terms of texts more often than others, and a value that no query
    asks for is kept in vain (docs/maintainers/log, which also says what the factor costs).

    Args:
        documents: terms of each document.
        vocabulary: number of terms.

    >>> term_priorities([[0, 1], [1]] * 15 + [[1]] * 50, 3).tolist()
    [2.0, 3.0, 1.0]
    """
    frequencies = np.zeros(vocabulary, np.int64)
    for terms in documents:
        frequencies[np.unique(np.array(terms, np.int64))] += 1
    return np.asarray((1.0 + frequencies) ** 0.25, np.float32)


def pruning_reports(
    reference: NDArray[np.float32],
    vectors: NDArray[np.float32],
    queries: Sequence[SparseQuery],
    relevant: Sequence[Sequence[int]],
    kept: int,
    priorities: NDArray[np.float32],
) -> list[Report]:
    """Return how each r ranks the probes, ascending; the last r keeps all values above 0.

    Args:
        reference: exact scores, (queries, documents) float32. Values below 0 count in them, so that
            the loss by dropping these is measured too.
        vectors: documents, counted from the floors, ≥ 0, (documents, vocabulary) float32.
        queries: vectors of the queries.
        relevant: indices of the relevant documents of each query.
        kept: one more r to measure.
        priorities: one per term, (vocabulary,) float32.
    """
    everything = vectors.shape[1]
    reports = []
    for r in sorted({min(r, everything) for r in (*LADDER, kept, everything)}):
        store = store_rows(prune(vectors, r, priorities))
        scores = sparse_scores(store, queries)
        size = round((store.terms.nbytes + store.values.nbytes) / len(store))
        reports.append(compare_scores(f"r={r}", size, reference, scores, relevant))
    return reports


def encoders_over(
    kind: type[Encoders],
    settings: SparseSettings,
    tokenizer: "Tokenizer",
    per_term: Mapping[str, NDArray[np.float32]],
    sessions: Sequence[Runs],
) -> Encoders:
    """Return encoders that run in some sessions, without a bundle.

    Args:
        kind: the class of the encoders.
        settings: the settings of the ranker.
        tokenizer: the tokenizer of both encoders.
        per_term: the ranker's arrays by the names of their files, each (vocabulary,) float32.
        sessions: the sessions of the query encoder and the document encoder, or one for both.
    """
    size = settings.vocabulary
    queries = partial(Encoder, sessions[0], kind.of_queries.output, tokenizer, size)
    documents = partial(Encoder, sessions[-1], kind.of_documents.output, tokenizer, size)
    return kind(settings, queries, documents, tokenizer, per_term.__getitem__)


def text_scores(encoders: SparseEncoders, texts: Probes) -> NDArray[np.float32]:
    """Return the scores of all pairs of texts, documents pruned, (queries, documents) float32."""
    queries, _ = encoders.encode_queries(texts.queries)
    return sparse_scores(encoders.encode_documents(texts.documents).store, queries)


def sparse_scores(store: SparseStore, queries: Sequence[SparseQuery]) -> NDArray[np.float32]:
    """Return the dot products of queries and stored documents, (queries, documents) float32."""
    numbers = np.arange(len(store))
    return np.stack([store.products(query, numbers) for query in queries])


def scores_of(
    queries: Sequence[SparseQuery], terms: NDArray[np.integer], values: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the dot products of queries and documents whose values are known for some terms.

    Args:
        queries: they have no other terms.
        terms: ascending, (terms,).
        values: the documents' values, (documents, terms) float32.

    Returns:
        (queries, documents) float32.
    """
    scores = [
        query.weights.astype(np.float64) @ values[:, np.searchsorted(terms, query.terms)].T
        for query in queries
    ]
    return np.array(scores, np.float32)
