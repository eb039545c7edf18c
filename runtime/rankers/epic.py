"""EPIC: the importance of a query's own terms, and a document's expansion over the vocabulary.

Source: MacAvaney et al. 2020 (paper 003), §2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.lexical.sparse_store import SparseQuery
from ranklet.runtime.rankers.learned_sparse import LearnedSparse
from ranklet.runtime.rankers.sparse_encoders import SparseEncoder, SparseEncoders, SparseSettings

# Outputs of the graphs, float32: the importance of each of a query's tokens, (batch, tokens), 0 for
# tokens that are no terms; a document's φ_d, (batch, vocabulary), ≥ 0.
QUERY_ENCODER = SparseEncoder("query/", "term_importances", segment=0)
DOCUMENT_ENCODER = SparseEncoder("document/", "term_impacts", segment=1)


@dataclass(frozen=True)
class EPICSettings(SparseSettings):
    """What EPIC's encoders and index are made of; the paper keeps r = 1000 or 2000 values (§3)."""


class EPICEncoders(SparseEncoders):
    """A query's importances and a document's impacts."""

    settings_class = EPICSettings
    of_queries, of_documents = QUERY_ENCODER, DOCUMENT_ENCODER

    def encode_queries(self, texts: Sequence[str]) -> tuple[list[SparseQuery], list[int]]:
        """Return the vectors of some queries, and the places of the queries that were cut.

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
            raise BundleError(
                "the query encoder gave a weight below 0 or a term past the vocabulary. The bundle "
                "is damaged: run `ranklet verify`"
            )
        return SparseQuery.positive(terms, weights)  # [CLS] and other special tokens have 0


class EPIC(LearnedSparse):
    """Dot product of the query's importances and the document's impacts (paper 003, eq. 5)."""

    label = "EPIC"
    encoders_class = EPICEncoders


RANKER = EPIC
SETTINGS = EPICSettings
