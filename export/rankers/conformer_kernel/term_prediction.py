"""The terms that a document's network is likely to give most, told from what it gives a few.

What a network gives to terms is nearly of low rank (medquad, NDRM3: 16 directions hold 94 % of
the variance), so scores of all common terms for some documents tell the directions, and those of a
few *probes* for any other document its place among them: the posterior mean of probabilistic
principal components (Tipping & Bishop 1999).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.export.rankers.conformer_kernel.floors import (
    drawn_documents,
    latent_scores,
    scores_of_all,
)
from ranklet.export.resumable import Arrays, KeptBlocks
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.training.indexing.analysed import AnalysedCollection

COMMONEST = 4096  # terms that are predicted: those of the most documents, and so of most queries
DOCUMENTS, PROBES, DIRECTIONS = 256, 128, 32


@dataclass(frozen=True)
class LikelyTerms:
    """A linear prediction of many terms' scores from those of a few.

    Attributes:
        terms: word forms that are predicted, (terms,) int32; may be none.
        probes: those that a document is asked for, (probes,) int32, all among `terms`.
        predictor: what a probe's score above its floor adds to each term's, (probes, terms)
            float32.
    """

    terms: NDArray[np.int32]
    probes: NDArray[np.int32]
    predictor: NDArray[np.float32]

    @classmethod
    def none(cls) -> "LikelyTerms":
        """Return what predicts nothing, as for a form without a network."""
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing, np.empty((0, 0), np.float32))

    def above_floors(
        self, matching: TermMatching, documents: Sequence[NDArray[np.int32]]
    ) -> NDArray[np.float32]:
        """Return the predicted scores of `terms` above their floors, (documents, terms) float32.

        Args:
            matching: the model, with its floors.
            documents: tokens of each.
        """
        if not len(self.terms):
            return np.empty((len(documents), 0), np.float32)
        rows = matching.rows[self.probes].astype(np.int64)
        probed = np.stack(latent_scores(matching, [rows] * len(documents), documents))
        above = probed - matching.floors[self.probes]
        return np.asarray(above @ self.predictor, np.float32)


def likely_terms(
    matching: TermMatching, analysed: AnalysedCollection, kept: KeptBlocks | None = None
) -> LikelyTerms:
    """Return the prediction for a model, fitted on some documents of a collection.

    Args:
        matching: the model, with its floors.
        analysed: the collection.
        kept: where it is kept, if it is.
    """
    if not matching.settings.latent:
        return LikelyTerms.none()
    df = np.diff(analysed.postings(matching.settings.field).offsets)
    known = np.flatnonzero(matching.rows >= FIRST)
    terms = known[np.argsort(-df[known], kind="stable")][:COMMONEST].astype(np.int32)
    if not len(terms):
        return LikelyTerms.none()
    asked = np.sort(np.random.default_rng(0).permutation(len(terms))[:PROBES])
    drawn = drawn_documents(matching, analysed, DOCUMENTS)

    def make() -> Arrays:
        scores = scores_of_all(matching, terms, drawn, "which terms are likely")
        return {"predictor": predictor(scores - matching.floors[terms], asked, DIRECTIONS)}

    blocks = KeptBlocks() if kept is None else kept
    lengths = np.array([len(each) for each in drawn])
    depends = (terms, asked, matching.floors, lengths, np.concatenate(drawn))
    found = blocks.block("likely terms", depends, {"predictor": np.float32}, make)
    return LikelyTerms(terms, terms[asked], found["predictor"])


def predictor(
    scores: NDArray[np.float32], asked: NDArray[np.intp], directions: int
) -> NDArray[np.float32]:
    """Return the matrix that predicts all columns of a row of scores from some of them.

    A row is z W + noise, z of unit variance, W (directions, terms) the principal directions scaled
    by their deviations. Given the columns C, z is expected to be C W_cᵀ (W_c W_cᵀ + σ² I)⁻¹, where
    σ² is the variance a term that the directions leave.

    Args:
        scores: (rows, terms) float32, counted from about 0.
        asked: places of the columns that will be known, (probes,).
        directions: at most.

    Returns:
        (probes, terms) float32.

    >>> rows = np.outer([1.0, 2.0, -1.0, 4.0], [1.0, 3.0, 2.0]).astype(np.float32)
    >>> (2 * predictor(rows, np.array([0]), 1)).round(2).tolist()
    [[2.0, 6.0, 4.0]]
    """
    exact = scores.astype(np.float64)
    _, deviations, axes = np.linalg.svd(exact / np.sqrt(len(exact)), full_matrices=False)
    kept = min(directions, len(deviations))
    weights = deviations[:kept, None] * axes[:kept]
    left = float((deviations[kept:] ** 2).sum()) / exact.shape[1]
    known = weights[:, asked]
    # Without any noise the inverse may not exist.
    noise = max(left, 1e-6 * float((deviations**2).sum()) / exact.shape[1], 1e-12)
    place = np.linalg.solve(known @ known.T + noise * np.eye(kept), known)
    return np.asarray(place.T @ weights, np.float32)
