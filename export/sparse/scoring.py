"""Scores of learned sparse vectors, as they are served."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.lexical.sparse_store import SparseStore
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.sparse_encoders import SparseEncoders, SparseSettings
from ranklet.training.data.probes import Probes

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Encoders = TypeVar("Encoders", bound=SparseEncoders)


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
