from pathlib import Path

import pytest

from ranklet.runtime.errors import CollectionError
from ranklet.training.data.collection import Document, Query, write_collection
from ranklet.training.data.query_log import with_query_log


def test_a_query_log_is_one_more_field(tmp_path: Path) -> None:
    documents = [Document("a", "A", "one"), Document("b", "", "two")]
    clicks = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
    log = ([Query("q1", "first query"), Query("q2", "second")], clicks)
    collection = write_collection(tmp_path / "c", documents, {"log": log})
    found = list(with_query_log(collection, "log"))
    assert found == [Document("a", "A", "one\nfirst query\nsecond"), documents[1]]
    with pytest.raises(CollectionError, match="no split"):
        list(with_query_log(collection, "clicks"))
