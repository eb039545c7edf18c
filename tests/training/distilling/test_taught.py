"""What a file of scores has of a training's queries, and what does not fit is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.scored import scored, scores_at

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.runtime.errors import InputError
from ranklet.training.distilling.score_file import ScoreFile
from ranklet.training.distilling.taught import TaughtQueries, match, read_taught
from ranklet.training.learning.options import TaughtOptions

Capture = pytest.CaptureFixture[str]
TEXTS = ["red apple", "old river", "red engine", "old castle"]


@pytest.fixture
def small(tmp_path: Path) -> Collection:
    """Return four documents and two queries, each of which has a word in common with two."""
    documents = [Document(f"d{at}", "", text) for at, text in enumerate(TEXTS)]
    queries = [Query("q1", "red apple"), Query("q2", "old river")]
    qrels = {"q1": {"d0": 1}, "q2": {"d1": 1}}
    return write_collection(tmp_path / "small", documents, {"train": (queries, qrels)})


def taught(held: ScoreFile, collection: Collection, queries: Any = None, **changes: Any) -> Any:
    queries = read_split(collection, "train") if queries is None else queries
    return match(held, collection, queries, changes.get("titles", True), "scores.npz")


def test_negatives_are_candidates_that_are_not_relevant(small: Collection) -> None:
    found = taught(scored(small), small)
    assert [each.query.id for each in found.queries] == ["q1", "q2"]
    assert [each.positives.tolist() for each in found.queries] == [[0], [1]]
    assert [each.negatives.tolist() for each in found.queries] == [[2], [3]]
    # A document that became relevant after the scoring is no negative, and what is left of its
    # query is nothing to compare.
    judged = read_split(small, "train")
    more = [judged[0], judged[1]._replace(relevant={"d1": 1, "d3": 1})]
    assert [each.query.id for each in taught(scored(small), small, more).queries] == ["q1"]


def test_scores_are_looked_up_by_number(small: Collection) -> None:
    held = scored(small)
    found = taught(held, small)
    for at in range(len(found.queries)):
        numbers = found.queries[at].candidates
        begin, end = held.offsets[at : at + 2]
        by_name = {
            held.documents[number]: value
            for number, value in zip(held.numbers[begin:end], held.scores[begin:end], strict=True)
        }
        own = found.of(np.array([at]), numbers[::-1][None])
        assert own.dtype == np.float32
        assert own[0].tolist() == [by_name[f"d{number}"] for number in numbers[::-1]]


def test_the_best_candidate_stands_in_for_a_relevant_document_without_a_score(
    small: Collection,
) -> None:
    held = scored(small)
    begin, end = held.offsets[:2]
    scores = held.scores.copy()
    names = [held.documents[number] for number in held.numbers[begin:end]]
    scores[begin + names.index("d2")] = 9
    other = JudgedQuery("q1", "red apple", {"d3": 1})
    assert "d3" not in names
    found = taught(replace(held, scores=scores), small, [other])
    assert found.queries[0].positives.tolist() == [2]
    assert found.queries[0].negatives.tolist() == [0]
    assert found.queries[0].relevant.tolist() == [3]


def test_what_is_lacking_is_counted_and_named(small: Collection, capsys: Capture) -> None:
    held = scored(small)
    extended = replace(
        held,
        queries=[*held.queries, "q9"],
        documents=[*held.documents, "gone"],
        texts=np.append(np.insert(held.texts, 2, 0), np.uint32(0)),
        offsets=np.append(held.offsets, held.offsets[-1] + 1),
        numbers=np.append(held.numbers, np.int32(len(held.documents))),
        scores=np.append(held.scores, np.float32(0)),
    )
    capsys.readouterr()
    found = taught(extended, small, [*read_split(small, "train"), JudgedQuery("q7", "x", {})])
    assert (found.facts["queries"], found.facts["pairs"]) == (2, 4)
    warnings = capsys.readouterr().err
    assert "has 1 documents that the collection lacks or has with another text" in warnings
    assert "the first is 'gone'" in warnings
    assert "has 1 queries that are not among those to learn from; the first is 'q9'" in warnings
    assert "1 of 3 queries are left out" in warnings
    assert "the first is 'q7'" in warnings


def test_changed_texts_are_no_part_of_what_is_learned(
    small: Collection, tmp_path: Path, capsys: Capture
) -> None:
    held = scored(small)
    documents = [Document(f"d{at}", "", text + "!" * (at == 2)) for at, text in enumerate(TEXTS)]
    queries = [Query("q1", "red apple"), Query("q2", "old river")]
    qrels = {"q1": {"d0": 1}, "q2": {"d1": 1}}
    other = write_collection(tmp_path / "other", documents, {"train": (queries, qrels)})
    capsys.readouterr()
    assert [each.query.id for each in taught(held, other).queries] == ["q2"]
    warnings = capsys.readouterr().err
    assert "the first is 'd2'" in warnings
    assert "1 of 2 queries are left out" in warnings
    changed = [query._replace(text="another") for query in read_split(other, "train")]
    with pytest.raises(InputError, match="no query that this training can learn from"):
        taught(held, other, changed)


def test_titles_must_be_read_as_the_teacher_read_them(small: Collection) -> None:
    with pytest.raises(InputError, match="read titles and this training does not"):
        taught(scored(small), small, titles=False)
    with pytest.raises(InputError, match="read no titles"):
        taught(scored(small, titles=False), small)


def test_another_collection_is_refused(tiny_collection: Collection, small: Collection) -> None:
    with pytest.raises(InputError, match="give scores of this collection"):
        taught(scored(tiny_collection), small)


def test_only_a_file_is_read(tiny_collection: Collection, tmp_path: Path) -> None:
    queries = read_split(tiny_collection, "train")
    assert read_taught(TaughtOptions(), tiny_collection, queries, titles=True) is None
    path = scores_at(tmp_path / "scores.npz", tiny_collection)
    found = read_taught(TaughtOptions(teacher=path), tiny_collection, queries, titles=True)
    assert isinstance(found, TaughtQueries)
    assert found.facts["scores"] == str(path)
    assert found.facts["model"] == "common words"
    assert found.facts["mean_margin"] > 1


def test_other_scores_have_another_digest(small: Collection) -> None:
    held = scored(small)
    digests = {
        taught(each, small).facts["digest"]
        for each in (held, replace(held, scores=held.scores + 1), replace(held, digest="other"))
    }
    assert len(digests) == 3
