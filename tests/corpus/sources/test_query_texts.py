import gzip
import os
from pathlib import Path
from threading import Thread

import pytest

from ranklet.corpus.collections.collection import Document, Query, write_collection
from ranklet.corpus.sources.query_texts import queries_to_learn, read_query_texts
from ranklet.runtime.ground.errors import CollectionError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("queries.txt", "what is yeast\n\n  why knead dough \n"),
        ("queries", "what is yeast\r\nwhy knead dough"),
        (
            "topics.301-302.txt",
            "\n<top>\n<num> Number: 1\n<title> Topic: what is yeast\n<desc> Description:\nwho\n"
            "</top>\n<top><num>2</num><title>why knead\ndough</title></top>",
        ),
        ("queries.jsonl", '{"_id": "1", "text": "what is yeast"}\n{"text": "why knead dough"}\n'),
    ],
)
def test_queries_are_lines_or_texts_of_objects(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert read_query_texts(path) == ["what is yeast", "why knead dough"]
    compressed = tmp_path / f"{name}.gz"
    compressed.write_bytes(gzip.compress(content.encode()))
    assert read_query_texts(compressed) == ["what is yeast", "why knead dough"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_as_a_file(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "queries")
    Thread(target=path.write_text, args=("what is yeast\nwhy knead dough\n",), daemon=True).start()
    assert read_query_texts(path) == ["what is yeast", "why knead dough"]


def test_a_folder_has_no_queries(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="is a folder; give a file with one query per line"):
        read_query_texts(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.txt", None, "does not exist; give a file with one query per line"),
        ("q.txt", " \n", "has no query"),
        ("q.txt", "yeast\ncaf\udce9", r"q\.txt is not UTF-8 \(byte 0xe9 after 'caf'\)"),
        ("q.jsonl", '{"query": "yeast"}', r"q\.jsonl:1: a query needs a text"),
        ("q.jsonl", '{"text": "yeast"}\n{"text": ', r"q\.jsonl:2: not JSON"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8", "surrogateescape")
    with pytest.raises(CollectionError, match=message):
        read_query_texts(tmp_path / name)


def test_queries_to_learn_are_those_of_train(tmp_path: Path) -> None:
    judged = {"train": ([Query("1", "how to knead")], {"1": {"d": 1}}), "dev": ([], {})}
    write_collection(tmp_path / "judged", [Document("d", "", "dough")], judged)
    assert queries_to_learn(tmp_path / "judged") == ["how to knead"]
    (tmp_path / "a.txt").write_text("a text")
    assert queries_to_learn(tmp_path) == queries_to_learn(tmp_path / "a.txt") == []
