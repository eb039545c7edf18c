"""EPIC weights a query's own terms and expands a document over the whole vocabulary.

Source: MacAvaney et al. 2020, §2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import damaged
from ranklet.runtime.rankers.learned_sparse import (
    LearnedSparse,
    SparseEncoder,
    SparseEncoders,
    SparseSettings,
)

# The query graph returns the importance of each token, (batch, tokens) float32, 0 for special
# tokens. The document graph returns φ_d, (batch, vocabulary) float32, ≥ 0.
QUERY_ENCODER = SparseEncoder("query/", "term_importances", segment=0)
DOCUMENT_ENCODER = SparseEncoder("document/", "term_impacts", segment=1)


@dataclass(frozen=True)
class EPICSettings(SparseSettings):
    """The settings of EPIC's encoders and index; the paper keeps r = 1000 or 2000 values (§3)."""


class EPICEncoders(SparseEncoders):
    """The importances of queries and the impacts of documents."""

    of_queries, of_documents = QUERY_ENCODER, DOCUMENT_ENCODER

    def encode_queries(self, texts: Sequence[str]) -> tuple[list[SparseQuery], list[int]]:
        """Return the vectors of some queries, and the indices of the truncated queries.

        Raises:
            BundleError: a weight is below 0 or a token is past the vocabulary.
        """
        limit = self.settings.max_query_tokens
        ids, values, cut = self.query_encoder.encode_tokens(texts, limit, QUERY_ENCODER.segment)
        return [self._vector(*each) for each in zip(ids, values, strict=True)], cut

    def _vector(self, ids: Sequence[int], importances: NDArray[np.float32]) -> SparseQuery:
        terms, place = np.unique(np.array(ids, np.int32), return_inverse=True)
        weights = np.bincount(place, weights=importances).astype(np.float32)
        if weights.min() < 0 or terms[-1] >= self.settings.vocabulary:
            raise damaged(
                "the query encoder returned a weight below 0 or a term past the vocabulary"
            )
        return SparseQuery.positive(terms, weights)  # [CLS] and other special tokens have 0


class EPIC(LearnedSparse):
    """Dot product of a query's importances and a document's impacts (MacAvaney et al., eq. 5)."""

    label = "EPIC"
    encoders_class = EPICEncoders


RANKER = EPIC
SETTINGS = EPICSettings
