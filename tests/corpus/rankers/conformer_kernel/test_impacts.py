"""Impacts: their sum is the model, and what is stored of them is the model's own number."""

from typing import Any

import numpy as np
import pytest
from tests.corpus.rankers.conformer_kernel.reference import FORMS, QUERIES, by_pytorch, opened

from ranklet.corpus.rankers.conformer_kernel import impacts as term_impacts
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.training.checkpoint import Checkpoint

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("form", FORMS)
def test_the_sum_of_impacts_is_the_models_score(
    form: str, whole: BundleFiles, checkpoints: dict[str, Checkpoint]
) -> None:
    """Up to what no document changes: floors, and the constants of BatchNorm."""
    ranker = opened(whole, form)
    for text in QUERIES:
        query = QueryContext(text, whole.analyzer.begin())
        model = by_pytorch(checkpoints[form], whole, text)
        numbers, found, _ = ranker.retrieve(query, len(model))
        scores = np.zeros(len(model))  # the document at every floor is in no list
        scores[numbers] = found
        constant = model - scores
        np.testing.assert_allclose(constant, constant.mean(), atol=2e-4 * max(1, model.std()))
        every: Any = np.arange(len(model), dtype=np.uint32)
        assert whole.documents is not None
        given = StoredCandidates(whole.documents, every)
        np.testing.assert_allclose(ranker.score(query, given).values, scores, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_quantised_impacts_are_off_by_half_a_step_per_term_at_most(
    form: str, whole: BundleFiles
) -> None:
    exact, stored = opened(whole, form).index, opened(whole, f"uint8_{form}").index
    assert stored.impacts.dtype == np.uint8
    every = np.arange(whole.manifest.documents, dtype=np.uint32)
    terms = np.arange(len(stored.offsets) - 1, dtype=np.int32)
    apart = np.abs(stored.matrix(terms, every) - exact.matrix(terms, every))
    steps = stored.largest[:, None] / np.float32(255)  # and the least impact is a whole one
    assert (apart <= steps * np.where(exact.matrix(terms, every) < steps, 1, 0.501)).all()


def test_largest_impacts_by_hand() -> None:
    """Two documents and an empty one between; a floor per term; NaN where there is no network."""
    scores = term_impacts.CandidateScores(
        np.array([0, 4, 4, 6]),
        np.array([2, 0, 1]),
        np.array([3, 0, 1, 2, 3, 1], np.int32),
        np.array([1.0, np.nan, 5.0, -1.0, 0.5, 3.0], np.float32),
        np.array([0.25, 2.0, 0.0, 0.0, 0.0, 0.0], np.float32),
    )
    floors = np.array([9.0, 3.0, -3.0, 1.0], np.float32)
    found = scores.largest(floors, 2)  # of 0.25, 2, 2, 2 | | -0.5, 0
    assert found.offsets.tolist() == [0, 2, 2, 2]
    assert found.terms.tolist() == [0, 1]  # the first of equal ones
    assert found.values.tolist() == [2, 2]
    every = scores.largest(floors, 9)
    assert every.terms.tolist() == [3, 0, 1, 2]
