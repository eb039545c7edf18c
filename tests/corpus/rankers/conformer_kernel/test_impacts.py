"""Impacts: their sum is the model, and what is stored of them is the model's own number."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.corpus.rankers.conformer_kernel.reference import (
    FORMS,
    QUERIES,
    analyse_again,
    by_pytorch,
    opened,
)

from ranklet.corpus.building.resumable import BlockCache
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.index import index_bundle
from ranklet.corpus.rankers.conformer_kernel import floors as term_floors
from ranklet.corpus.rankers.conformer_kernel import impacts as term_impacts
from ranklet.corpus.rankers.conformer_kernel.term_prediction import LikelyTerms
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.rankers.conformer_kernel.network import scores_of_each
from ranklet.training.checkpoint import Checkpoint


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
    assert apart.max() <= stored.scale / 2 * 1.001


def test_what_is_kept_is_the_models_own_number(
    indexed: Bundle, whole: BundleFiles, checkpoints: dict[str, Checkpoint]
) -> None:
    """Pruned and quantised: every stored impact is the model's, above a floor of its term."""
    ranker, exact = opened(indexed, "ndrm3"), opened(whole, "ndrm3")
    every = np.arange(len(indexed), dtype=np.uint32)
    for term in np.unique(
        QueryContext(" ".join(QUERIES), whole.analyzer.begin()).tokens("words")
    ).tolist():
        if term >= len(ranker.matching.rows):
            continue
        terms = np.array([term], np.int32)
        stored = ranker.index.matrix(terms, every)[0]
        shift = exact.matching.floors[term] - ranker.matching.floors[term]
        model = exact.index.matrix(terms, every)[0] + shift
        held = stored > 0
        np.testing.assert_allclose(stored[held], model[held], atol=ranker.index.scale)
        assert (model[~held] < ranker.index.scale).all()  # here few terms: only the floor cuts


def test_candidates_are_a_documents_own_terms_then_likely_ones(
    indexed: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Best first, and none that is its own."""
    matching = opened(indexed, "ndrm1").matching
    scored_rows: list[list[int]] = []

    def noted(_: Any, rows: Any, documents: Any) -> Any:
        scored_rows.extend(each.tolist() for each in rows)
        assert len(rows) == len(documents)
        return [np.full(len(each), 5.0, np.float32) for each in rows]

    monkeypatch.setattr(term_impacts, "latent_scores", noted)
    analysed = analyse_again(indexed.files)
    field = matching.settings.field
    own = np.unique(analysed.tokens(field)[: analysed.offsets(field)[1]])
    known = np.flatnonzero(matching.rows > 1)
    others = known[~np.isin(known, own)][:4].tolist()
    above = dict(zip([own[0], *others], [9.0, 1.0, 7.0, -1.0, 3.0], strict=True))
    terms = np.array([*above], np.int32)

    class FixedTerms(LikelyTerms):
        def above_floors(self, matching: Any, documents: Any) -> Any:
            return np.tile(np.array([*above.values()], np.float32), (len(documents), 1))

    likely = FixedTerms(terms, terms[:1], np.zeros((1, len(terms)), np.float32))
    for room, chosen in ((9, [others[at] for at in (1, 3, 0, 2)]), (2, [others[1], others[3]])):
        settings = replace(matching.settings, candidates=len(own) + room, terms=3)
        monkeypatch.setattr(matching, "settings", settings)
        scored_rows.clear()
        impacts = term_impacts.document_impacts(
            matching, likely, analysed, BlockCache(tmp_path / str(room))
        )
        assert scored_rows[0] == matching.rows[[*own, *chosen]].tolist()
        assert np.diff(impacts.offsets).max() == 3
        assert isinstance(impacts.indexed(len(matching.rows), "float16"), ImpactIndex)
    scored_rows.clear()
    term_impacts.document_impacts(matching, LikelyTerms.none(), analysed, BlockCache(tmp_path))
    assert scored_rows[0] == matching.rows[own].tolist()


@pytest.mark.slow
def test_an_interrupted_indexing_continues_to_the_same_result(
    exported: Path, indexed: Bundle, tiny_collection: Collection, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(term_impacts, "BLOCK", 10)
    computed = scores_of_each
    calls: list[int] = []

    def counted(session: Any, terms: Any, documents: Any) -> Any:
        calls.append(len(documents))
        if len(calls) == stop:
            raise KeyboardInterrupt
        return computed(session, terms, documents)

    monkeypatch.setattr(term_floors, "scores_of_each", counted)
    stop, target = -1, tmp_path / "b"
    index_bundle(exported, tiny_collection, tmp_path / "whole")
    needed = len(calls)
    calls.clear()
    stop = needed - 2
    with pytest.raises(KeyboardInterrupt):
        index_bundle(exported, tiny_collection, target)
    assert not target.exists()
    kept = sorted((tmp_path / ".b.resume").rglob("*.npz"))
    kept[0].write_bytes(kept[0].read_bytes()[:-40])  # not whole: made again
    calls.clear()
    stop = -1
    index_bundle(exported, tiny_collection, target)
    assert 0 < len(calls) < needed / 2
    assert not (tmp_path / ".b.resume").exists()
    for part in ("impacts", "documents", "offsets", "floors"):
        for form in ("ndrm1", "ndrm3"):
            one, other, past = (
                np.load(path / f"rankers/{form}/{part}.npy")
                for path in (target, tmp_path / "whole", Path(str(indexed.files.path)))
            )
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, past)


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
