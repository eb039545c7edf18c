"""TREC topics are queries by their titles, as they were written in thirty years."""

from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Collection, Query
from ranklet.runtime.ground.errors import CollectionError

OPEN = """
<top>
<head> Tipster Topic Description
<num> Number: 301
<title> International Organized
Crime &amp; trade

<desc> Description: a
</top>
"""
XML = """<?xml version="1.0"?><topics><topic number="7">
<query>coronavirus origin</query><question>what is it</question></topic></topics>"""


@pytest.mark.parametrize(
    ("content", "query"),
    [(OPEN, ("301", "International Organized Crime & trade")), (XML, ("7", "coronavirus origin"))],
)
def test_a_collection_has_topics_in_place_of_queries(
    content: str, query: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "topics.test.txt").write_text(content)
    (tmp_path / "qrels.test.txt").write_text(f"{query[0]} 0 a 1\n")
    found = Collection(tmp_path, documents=False)
    assert found.splits() == ("test",)
    assert found.queries("test") == [Query(*query)] == [*found.every_query()]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("<top><num> 1 <desc> a </top>", "topic 1 has no title"),
        ("<top><title> a </top>", "topic 1 has no number"),
        ("what is yeast", "no <top>"),
        (OPEN + OPEN, "'301' occurs twice"),
    ],
)
def test_what_is_no_topic_is_refused(content: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "topics.test.txt").write_text(content)
    with pytest.raises(CollectionError, match=fault):
        Collection(tmp_path, documents=False).queries("test")
