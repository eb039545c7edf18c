"""A ColBERT in a bundle: stored vectors, own texts, and damaged files."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.damage import Change, change_array, put
from tests.kinds import ROWS, TinyRankers, opened, reranked_by, retrieved_by

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError
from ranklet.runtime.rankers.colbert.ranker import ColBERT
from ranklet.runtime.verification import verify

# Kinds and their rankers whose scores are MaxSim.
RANKERS = [(kind, name) for kind in ("colbert", "srm") for name in ROWS[kind].rankers]


@pytest.mark.parametrize(("kind", "name"), RANKERS)
def test_a_callers_copy_of_a_document_scores_as_the_stored_one(
    tiny: TinyRankers, kind: str, name: str
) -> None:
    bundle = tiny.bundle(kind)
    hits = bundle.rank("bright world", k=20, pipeline=retrieved_by(name))
    own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in hits]
    scores = bundle.score("bright world", own, pipeline=retrieved_by(name))
    assert scores.tolist() == [hit.score for hit in hits]


@pytest.mark.parametrize(("kind", "name"), RANKERS)
def test_a_document_has_the_same_score_retrieved_and_rescored(
    tiny: TinyRankers, kind: str, name: str
) -> None:
    bundle = tiny.bundle(kind)
    retrieved = {
        hit.id: hit.score for hit in bundle.rank("red stream", k=48, pipeline=retrieved_by(name))
    }
    rescored = bundle.rank("red stream", k=48, pipeline=reranked_by(name))
    assert rescored
    assert all(retrieved[hit.id] == hit.score for hit in rescored)


def test_a_deadline_leaves_the_rest_unscored(tiny: TinyRankers) -> None:
    hits = tiny.bundle("colbert").rank("red stream", pipeline=reranked_by("colbert"), budget_ms=0)
    assert hits.budget_spent
    assert hits.left_out


def test_the_scale_is_one_over_the_number_of_query_vectors(tiny: TinyRankers) -> None:
    bundle, pipeline = tiny.bundle("colbert"), retrieved_by("expanded")
    ids, features = bundle.features("red stream", pipeline=pipeline)
    scores = bundle.score("red stream", ids=ids, pipeline=pipeline)
    # Its queries always have 12 tokens.
    np.testing.assert_allclose(features["expanded"], scores / 12, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("colbert", "scales", put(np.nan), "not finite and above 0"),
        ("colbert", "scales", put(np.inf, -1), "not finite and above 0"),
        ("colbert", "scales", put(0.0), "not finite and above 0"),
        ("colbert", "scales", put(-1.0), "not finite and above 0"),
        ("colbert", "scales", lambda held: held[:-1], "scales"),
        ("colbert", "scales", lambda held: held.astype(np.float64), "scales"),
        ("colbert", "values", lambda held: held[:, :-1], "values"),
        ("colbert", "values", lambda held: held[:-1], "values"),
        ("colbert", "values", lambda held: held.astype(np.int16), "values"),
        ("expanded", "values", put(32_000), "too long for exact products"),
        ("colbert", "offsets", put(1), "begin with 0"),
        ("colbert", "offsets", put(-5, 3), "never decrease"),
        ("colbert", "offsets", put(10**12, -1), "values"),
        ("colbert", "offsets", lambda held: held[:-1], "offsets"),
    ],
)
def test_verify_finds_damaged_vectors(
    tiny: TinyRankers, tmp_path: Path, name: str, file: str, change: Change, message: str
) -> None:
    victim = Path(shutil.copytree(tiny.indexed("colbert"), tmp_path / "victim"))
    change_array(victim, f"rankers/{name}/vectors.{file}.npy", change)
    with pytest.raises(BundleError, match=message):
        list(verify(victim))


def test_a_factor_that_is_not_finite_is_no_answer(tiny: TinyRankers, tmp_path: Path) -> None:
    victim = Path(shutil.copytree(tiny.indexed("colbert"), tmp_path / "victim"))
    change_array(victim, "rankers/colbert/vectors.scales.npy", put(np.nan, slice(None)))
    with pytest.raises(BundleError, match="not finite"):
        Bundle(victim, device="cpu").rank("red stream", pipeline=retrieved_by("colbert"))


def test_an_explanation_refuses_vectors_of_another_text(tiny: TinyRankers, tmp_path: Path) -> None:
    victim = Path(shutil.copytree(tiny.indexed("colbert"), tmp_path / "victim"))

    def shifted(offsets: NDArray[Any]) -> NDArray[Any]:
        made = offsets.copy()
        made[1:-1] -= 1
        return made

    change_array(victim, "rankers/colbert/vectors.offsets.npy", shifted)
    bundle = Bundle(victim, device="cpu")
    with pytest.raises(BundleError, match="vectors, but its text has"):
        bundle.rank("red stream", k=48, pipeline=retrieved_by("colbert"), explain=True)


def test_queries_and_texts_that_are_cut_are_reported(tiny: TinyRankers) -> None:
    bundle = tiny.bundle("colbert")
    long = "old river " * 20
    assert bundle.rank(long, pipeline=retrieved_by("colbert")).truncated == {"colbert": 1}
    own = bundle.rank("red", [long, "red"], pipeline=retrieved_by("colbert"))
    assert own.truncated == {"colbert": 1}
    assert opened(tiny.indexed("colbert"), "colbert", ColBERT).settings.max_document_tokens == 16
