"""A document has one score by MaxSim, whatever it is scored with, stored or of the caller."""

import pytest
from tests.kinds import ROWS, TinyRankers, reranked_by, retrieved_by

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
