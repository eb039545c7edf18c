"""What a teacher's run has of a training's queries, and what does not fit is named."""

from pathlib import Path

import numpy as np
import pytest
from tests.scored import common_words, run_at

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.training.distilling.taught import TaughtQueries, match, read_taught
from ranklet.training.learning.options import TaughtOptions

TEXTS = ["red apple", "old river", "red engine", "old castle"]
RUN = {"q1": {"d0": 2.0, "d2": 1.0}, "q2": {"d3": 1.5, "d1": 4.0}}


@pytest.fixture
def small(tmp_path: Path) -> Collection:
    """Return four documents and two queries, each of which has a word in common with two."""
    documents = [Document(f"d{at}", "", text) for at, text in enumerate(TEXTS)]
    queries = [Query("q1", "red apple"), Query("q2", "old river")]
    qrels = {"q1": {"d0": 1}, "q2": {"d1": 1}}
    return write_collection(tmp_path / "small", documents, {"train": (queries, qrels)})


def test_negatives_are_candidates_that_are_not_relevant(small: Collection) -> None:
    judged = read_split(small, "train")
    found = match(RUN, small, judged, "it.run")
    assert [each.query.id for each in found.queries] == ["q1", "q2"]
    assert [each.positives.tolist() for each in found.queries] == [[0], [1]]
    assert [each.negatives.tolist() for each in found.queries] == [[2], [3]]
    # A document that became relevant after the scoring is no negative, and what is left of its
    # query is nothing to compare.
    more = [judged[0], judged[1]._replace(relevant={"d1": 1, "d3": 1})]
    assert [each.query.id for each in match(RUN, small, more, "it.run").queries] == ["q1"]


def test_scores_are_looked_up_by_number(small: Collection) -> None:
    found = match(RUN, small, read_split(small, "train"), "it.run")
    own = found.of(np.array([1, 0]), np.array([[3, 1], [0, 2]]))
    assert own.dtype == np.float32
    assert own.tolist() == [[1.5, 4], [2, 1]]


def test_the_best_candidate_stands_in_for_a_relevant_document_without_a_score(
    small: Collection,
) -> None:
    other = JudgedQuery("q1", "red apple", {"d3": 1})
    (found,) = match({"q1": {"d0": 2, "d2": 9}}, small, [other], "it.run").queries
    assert found.positives.tolist() == [2]
    assert found.negatives.tolist() == [0]
    assert found.relevant.tolist() == [3]


def test_what_is_lacking_is_counted_and_named(
    small: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    run = {**RUN, "q2": {**RUN["q2"], "gone": 1.0}, "q9": {"d1": 1.0}}
    queries = [*read_split(small, "train"), JudgedQuery("q7", "x", {})]
    found = match(run, small, queries, "it.run")
    assert (found.facts["queries"], found.facts["pairs"]) == (2, 4)
    warnings = capsys.readouterr().err
    assert "has 1 documents that the collection lacks; the first is 'gone'" in warnings
    assert "1 of 3 queries are left out" in warnings
    assert "the first is 'q7'" in warnings


def test_another_collection_is_refused(tiny_collection: Collection, small: Collection) -> None:
    with pytest.raises(InputError, match="give one of this collection"):
        match(common_words(tiny_collection), small, read_split(small, "train"), "it.run")


def test_only_a_run_is_read(tiny_collection: Collection, tmp_path: Path) -> None:
    queries = read_split(tiny_collection, "train")
    assert read_taught(TaughtOptions(), tiny_collection, queries) is None
    path = run_at(tmp_path / "scores.run", tiny_collection)
    found = read_taught(TaughtOptions(teacher=path), tiny_collection, queries)
    assert isinstance(found, TaughtQueries)
    assert found.facts["run"] == str(path)
    assert found.facts["mean_margin"] > 1
    path.write_text("garbage\n")
    with pytest.raises(CollectionError, match="expected 6"):
        read_taught(TaughtOptions(teacher=path), tiny_collection, queries)
