"""SPLADE: a masked language model gives each text sparse weights over the vocabulary.

Source: Formal et al. 2021, "SPLADE v2" (arXiv 2109.10086). Queries can be encoded without a
network. Then a term has the same weight in all queries (eq. 7; Geng et al. 2024, arXiv 2411.04403).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.ground.options import check_one_of
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.rankers.learned_sparse import (
    LearnedSparse,
    SparseEncoder,
    SparseEncoders,
    SparseSettings,
)
from ranklet.runtime.text.tokenizing import token_ids

# One graph encodes queries and documents. Its output is (batch, vocabulary) float32.
ENCODER = SparseEncoder("", "term_weights", segment=0)
QUERY_WEIGHTS = "query_weights.npy"  # one per term, ≥ 0, (vocabulary,) float32
QUERIES = ("network", "idf", "learned")  # what gives the terms of a query their weights


@dataclass(frozen=True)
class SPLADESettings(SparseSettings):
    """The settings of a SPLADE ranker.

    Attributes:
        queries: how queries get their terms, one of `QUERIES`.
    """

    queries: str = "network"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("queries", self.queries, QUERIES)


class SPLADEEncoders(SparseEncoders):
    """The term weights of queries and documents."""

    settings: SPLADESettings
    of_queries = of_documents = ENCODER

    @property
    def provider(self) -> str:
        """The onnxruntime provider that encodes queries, or numpy if no network does."""
        return super().provider if self.settings.queries == "network" else "numpy"

    def encode_queries(self, texts: Sequence[str]) -> tuple[list[SparseQuery], list[int]]:
        """Return the vectors of queries, and the indices of the queries that were truncated."""
        limit = self.settings.max_query_tokens
        if self.settings.queries == "network":
            vectors, cut = self.query_encoder.encode(texts, limit, ENCODER.segment)
            terms = np.arange(self.settings.vocabulary)
            return [SparseQuery.positive(terms, vector) for vector in vectors], cut
        ids, cut = token_ids(self.tokenizer, texts, limit)
        weights = self.per_term(QUERY_WEIGHTS)
        each = [distinct(np.asarray(row)) for row in ids]
        return [SparseQuery.positive(terms, weights[terms]) for terms in each], cut

    def verify(self, name: str) -> None:
        """Check the arrays and run the document encoder; a BundleError names the ranker."""
        super().verify(name)
        if self.settings.queries != "network":
            weights = self.per_term(QUERY_WEIGHTS)
            if not (np.isfinite(weights) & (weights >= 0)).all():
                raise BundleError(f"{name}: {QUERY_WEIGHTS} has a value that is not finite and ≥ 0")


class SPLADE(LearnedSparse):
    """Dot product of the term weights of a query and a document."""

    label = "SPLADE"
    encoders_class = SPLADEEncoders


RANKER = SPLADE
SETTINGS = SPLADESettings
