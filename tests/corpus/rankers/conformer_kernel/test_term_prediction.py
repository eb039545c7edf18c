"""Likely terms of a document are predicted from the scores of a few."""

from pathlib import Path

import numpy as np
import pytest
from tests.corpus.rankers.conformer_kernel.reference import analyse_again, opened

from ranklet.corpus.building.resumable import BlockCache
from ranklet.corpus.rankers.conformer_kernel import floors as term_floors
from ranklet.corpus.rankers.conformer_kernel.term_prediction import LikelyTerms, likely_terms
from ranklet.runtime.bundles.files import BundleFiles

pytestmark = pytest.mark.slow


def test_likely_terms_are_the_commonest_and_foretell_the_network(
    whole: BundleFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklet.corpus.rankers.conformer_kernel.term_prediction.COMMONEST", 20)
    monkeypatch.setattr("ranklet.corpus.rankers.conformer_kernel.term_prediction.ANCHORS", 14)
    matching, analysed = opened(whole, "ndrm3").term_matching, analyse_again(whole)
    likely = likely_terms(matching, analysed, BlockCache(tmp_path / "a"))
    assert len(likely.terms) == 20
    assert len(likely.anchors) == 14
    df = np.diff(analysed.postings("words").offsets)
    others = np.setdiff1d(np.flatnonzero(matching.rows > 1), likely.terms)
    assert df[likely.terms].min() >= df[others].max()
    documents = term_floors.drawn_documents(matching, analysed, 99)
    exact = term_floors.score_all(matching, likely.terms, documents, "")
    found = likely.above_floors(matching, documents)
    above = exact - matching.floors[likely.terms]
    rest = ~np.isin(likely.terms, likely.anchors)
    assert np.corrcoef(found[:, rest].ravel(), above[:, rest].ravel())[0, 1] > 0.6
    again = likely_terms(matching, analysed, BlockCache(tmp_path / "b"))
    np.testing.assert_array_equal(again.predictor, likely.predictor)
    explicit = opened(whole, "ndrm2").term_matching
    assert not len(likely_terms(explicit, analysed, BlockCache(tmp_path)).terms)
    assert LikelyTerms.none().above_floors(explicit, documents).shape == (len(documents), 0)
