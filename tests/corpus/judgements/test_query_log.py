from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Document, Query, write_collection
from ranklet.corpus.judgements.query_log import LoggedCollection, with_query_log
from ranklet.runtime.ground.errors import CollectionError, InputError


def test_a_query_log_is_one_more_field(tmp_path: Path) -> None:
    documents = [Document("a", "A", "one"), Document("b", "", "two")]
    clicks = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
    log = ([Query("q1", "first query"), Query("q2", "second")], clicks)
    collection = write_collection(tmp_path / "c", documents, {"log": log})
    found = list(with_query_log(collection, "log", []))
    assert found == [Document("a", "A", "one\nfirst query\nsecond"), documents[1]]
    with pytest.raises(CollectionError, match="no split"):
        list(with_query_log(collection, "clicks", []))


def test_what_a_log_has_and_a_collection_lacks_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [Document("a", "", "one"), Document("b", "", "two")]
    queries = [Query("q1", "first"), Query("q2", "second"), Query("q3", "third")]
    some = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"gone": 1}}
    splits = {"some": (queries, some), "other": (queries, {"q1": {"gone": 1}})}
    collection = write_collection(tmp_path / "c", documents, splits)
    found = list(LoggedCollection(collection.path, "some").documents())
    assert [each.text for each in found] == ["one\nfirst", "two\nsecond"]
    assert "1 cannot be found (1 relevant); the first is 'gone'" in capsys.readouterr().err
    with pytest.raises(InputError, match="1 of 1 relevant documents of 'other' are not in"):
        with_query_log(collection, "other", [])
