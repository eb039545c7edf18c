from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.overlap import count_shared


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    def split(qrels: dict[str, dict[str, int]]) -> tuple[list[Query], dict[str, dict[str, int]]]:
        return [Query(query, query) for query in qrels], qrels

    splits = {
        "train": split({"t1": {"a": 1, "b": 0}, "t2": {"c": 2}, "both": {"d": 1}}),
        "test": split({"q1": {"a": 1, "e": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "both": {"d": 1}}),
    }
    return write_collection(tmp_path / "c", [Document(name, "", "x") for name in "abcde"], splits)


def test_held_out_queries_that_share_a_document_are_counted(collection: Collection) -> None:
    train, test = read_split(collection, "train"), read_split(collection, "test")
    assert count_shared(train, test) == 3  # a query in both is one of them
    assert count_shared(test, []) == count_shared([], test) == 0
