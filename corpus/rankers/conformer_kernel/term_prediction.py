"""Predict the terms that the network is likely to give a document most, from its scores of a few.

The scores that a network gives to terms are nearly of low rank (medquad, NDRM3: 16 directions have
94 % of the variance). Scores of all common terms for some documents therefore give the directions,
and the scores of a few *anchor* terms place any other document among them: the posterior mean of
probabilistic principal components (Tipping & Bishop 1999).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.resumable import Arrays, BlockCache
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.rankers.conformer_kernel.floors import drawn_documents, latent_scores, score_all
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.ranker import TermMatching

COMMONEST = 4096  # terms that are predicted: those of the most documents, and so of most queries
DOCUMENTS, ANCHORS, DIRECTIONS = 256, 128, 32


@dataclass(frozen=True)
class LikelyTerms:
    """A linear prediction of many terms' scores from the scores of a few.

    Attributes:
        terms: word forms that are predicted, (terms,) int32; may be empty.
        anchors: word forms that every document is scored for, (anchors,) int32, all among `terms`.
        predictor: what an anchor's score above its floor adds to each term's score, (anchors,
            terms) float32.
    """

    terms: NDArray[np.int32]
    anchors: NDArray[np.int32]
    predictor: NDArray[np.float32]

    @classmethod
    def none(cls) -> "LikelyTerms":
        """Return the prediction of no terms, for an architecture without a network."""
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing, np.empty((0, 0), np.float32))

    def above_floors(
        self, matching: TermMatching, documents: Sequence[NDArray[np.int32]]
    ) -> NDArray[np.float32]:
        """Return the predicted scores of `terms` above their floors, (documents, terms) float32."""
        if not len(self.terms):
            return np.empty((len(documents), 0), np.float32)
        rows = matching.rows[self.anchors].astype(np.int64)
        scores = np.stack(latent_scores(matching, [rows] * len(documents), documents))
        above = scores - matching.floors[self.anchors]
        return np.asarray(above @ self.predictor, np.float32)


def likely_terms(
    matching: TermMatching, analysed: AnalysedCollection, cache: BlockCache
) -> LikelyTerms:
    """Return the prediction for a model with its floors, fitted on documents of a collection."""
    if not matching.settings.latent:
        return LikelyTerms.none()
    df = np.diff(analysed.postings(matching.settings.field).offsets)
    known = np.flatnonzero(matching.rows >= FIRST)
    terms = known[np.argsort(-df[known], kind="stable")][:COMMONEST].astype(np.int32)
    if not len(terms):
        return LikelyTerms.none()
    anchors = np.sort(np.random.default_rng(0).permutation(len(terms))[:ANCHORS])
    documents = drawn_documents(matching, analysed, DOCUMENTS)

    def make() -> Arrays:
        scores = score_all(matching, terms, documents, "likely terms")
        return {"predictor": predictor(scores - matching.floors[terms], anchors, DIRECTIONS)}

    lengths = np.array([len(tokens) for tokens in documents])
    depends = (terms, anchors, matching.floors, lengths, np.concatenate(documents))
    block = cache.block("likely terms", depends, {"predictor": np.float32}, make)
    return LikelyTerms(terms, terms[anchors], block["predictor"])


def predictor(
    scores: NDArray[np.float32], anchors: NDArray[np.intp], directions: int
) -> NDArray[np.float32]:
    """Return the matrix that predicts all columns of a row of scores from some of them.

    A row is z W + noise, with z of unit variance and W (directions, terms) the principal directions
    scaled by their deviations. Given the columns C, the expectation of z is
    C W_cᵀ (W_c W_cᵀ + σ² I)⁻¹, where σ² is the variance per term outside of the directions.

    Args:
        scores: (rows, terms) float32, counted from about 0.
        anchors: the columns that will be known, (anchors,).
        directions: the most directions to use.

    Returns:
        (anchors, terms) float32.

    >>> rows = np.outer([1.0, 2.0, -1.0, 4.0], [1.0, 3.0, 2.0]).astype(np.float32)
    >>> (2 * predictor(rows, np.array([0]), 1)).round(2).tolist()
    [[2.0, 6.0, 4.0]]
    """
    exact = scores.astype(np.float64)
    _, deviations, axes = np.linalg.svd(exact / np.sqrt(len(exact)), full_matrices=False)
    count = min(directions, len(deviations))
    weights = deviations[:count, None] * axes[:count]
    left = float((deviations[count:] ** 2).sum()) / exact.shape[1]
    known = weights[:, anchors]
    # Without any noise the inverse may not exist.
    noise = max(left, 1e-6 * float((deviations**2).sum()) / exact.shape[1], 1e-12)
    place = np.linalg.solve(known @ known.T + noise * np.eye(count), known)
    return np.asarray(place.T @ weights, np.float32)
