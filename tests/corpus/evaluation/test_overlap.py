from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.overlap import count_shared, overlap, recorded_splits


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    def split(qrels: dict[str, dict[str, int]]) -> tuple[list[Query], dict[str, dict[str, int]]]:
        return [Query(query, query) for query in qrels], qrels

    splits = {
        "train": split({"t1": {"a": 1, "b": 0}, "t2": {"c": 2}, "both": {"d": 1}}),
        "test": split({"q1": {"a": 1, "e": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "both": {"d": 1}}),
    }
    return write_collection(tmp_path / "c", [Document(name, "", "x") for name in "abcde"], splits)


def test_only_what_other_queries_found_relevant_in_training_is_shared(
    collection: Collection,
) -> None:
    found = overlap(collection, read_split(collection, "test"), ["train"])
    assert (found.queries, found.of_queries) == (2, 4)
    assert (found.documents, found.of_documents) == (2, 5)
    assert found.trained == 1
    assert str(found) == (
        "2 of 4 queries have a relevant document that is also relevant in train (2 of 5 documents);"
        " a ranker that was trained there may have memorised them; "
        "1 of these queries are in train themselves"
    )


def test_recorded_splits_are_those_of_this_collection_that_are_still_there(
    collection: Collection,
) -> None:
    reports = {
        "bm25": {"collection": "c", "split": "train"},
        "dense": {"collection": "c", "split": "train[:90%]", "tune": "train[90%:]"},
        "model1": {"collection": "c", "split": "gone", "tune": "train[90%:]"},
        "other": {"collection": "another", "split": "test"},
        "imported": {"imported": "folder"},
    }
    recorded = recorded_splits({"checkpoints": reports}, collection)
    assert recorded == ("train", "train[:90%]", "train[90%:]")
    found = overlap(collection, read_split(collection, "test"), recorded, recorded=True)
    assert "was also relevant in training, on train and train[:90%] and train[90%:]" in str(found)
    for nothing in ({}, {"checkpoints": 3}, {"checkpoints": {"bm25": None}}):
        assert recorded_splits(nothing, collection) == ()


def test_held_out_queries_that_share_a_document_are_counted(collection: Collection) -> None:
    train, test = read_split(collection, "train"), read_split(collection, "test")
    assert count_shared(train, test) == 3  # a query in both is one of them
    assert count_shared(test, []) == count_shared([], test) == 0
