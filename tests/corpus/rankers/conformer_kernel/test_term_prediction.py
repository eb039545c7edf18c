"""Likely terms of a document are predicted from the scores of a few."""

from pathlib import Path

import numpy as np
import pytest
from tests.corpus.rankers.conformer_kernel.reference import analyse_again, opened

from ranklet.corpus.building.resumable import BlockCache
from ranklet.corpus.rankers.conformer_kernel import floors as term_floors
from ranklet.corpus.rankers.conformer_kernel.term_prediction import (
    LikelyTerms,
    likely_terms,
    predictor,
)
from ranklet.runtime.bundles.files import BundleFiles


def test_scores_of_low_rank_are_predicted_from_a_few() -> None:
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(3, 40))
    scores = (rng.normal(size=(60, 3)) @ axes).astype(np.float32)
    anchors = np.array([1, 5, 8, 20, 33])
    of_five = predictor(scores, anchors, 8)
    assert of_five.shape == (5, 40)
    fresh = rng.normal(size=(9, 3)) @ axes
    np.testing.assert_allclose(fresh[:, anchors] @ of_five, fresh, atol=0.02)
    # What nobody can know is predicted less surely, not more: predictions shrink under noise.
    noisy = scores + rng.normal(size=scores.shape) * 2
    shrunk = fresh[:, anchors] @ predictor(noisy.astype(np.float32), anchors, 3)
    assert np.abs(shrunk).mean() < 0.9 * np.abs(fresh).mean()
    assert np.corrcoef(shrunk.ravel(), fresh.ravel())[0, 1] > 0.5
    for one in (scores[:1], scores * 0):  # a single document; a network that says nothing
        assert np.isfinite(predictor(one, anchors, 8)).all()


def test_likely_terms_are_the_commonest_and_foretell_the_network(
    whole: BundleFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklet.corpus.rankers.conformer_kernel.term_prediction.COMMONEST", 20)
    monkeypatch.setattr("ranklet.corpus.rankers.conformer_kernel.term_prediction.ANCHORS", 8)
    matching, analysed = opened(whole, "ndrm3").matching, analyse_again(whole)
    likely = likely_terms(matching, analysed, BlockCache(tmp_path / "a"))
    assert len(likely.terms) == 20
    assert len(likely.anchors) == 8
    df = np.diff(analysed.postings("words").offsets)
    others = np.setdiff1d(np.flatnonzero(matching.rows > 1), likely.terms)
    assert df[likely.terms].min() >= df[others].max()
    documents = term_floors.drawn_documents(matching, analysed, 99)
    exact = term_floors.scores_of_all(matching, likely.terms, documents, "")
    found = likely.above_floors(matching, documents)
    above = exact - matching.floors[likely.terms]
    rest = ~np.isin(likely.terms, likely.anchors)
    assert np.corrcoef(found[:, rest].ravel(), above[:, rest].ravel())[0, 1] > 0.6
    again = likely_terms(matching, analysed, BlockCache(tmp_path / "b"))
    np.testing.assert_array_equal(again.predictor, likely.predictor)
    explicit = opened(whole, "ndrm2").matching
    assert not len(likely_terms(explicit, analysed, BlockCache(tmp_path)).terms)
    assert LikelyTerms.none().above_floors(explicit, documents).shape == (len(documents), 0)
