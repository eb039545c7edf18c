from pathlib import Path
from typing import Any

import pytest
from tests.training.data.sources.reading import announced, read, refused, write

from ranklet.training.data.sources.columns import Columns, choose_columns
from ranklet.training.data.sources.options import SourceOptions


def chosen(*names: str, **options: Any) -> Columns:
    record = dict.fromkeys(names, "some words here and there")
    return choose_columns([record], SourceOptions(**options), "a.csv")


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("_id", "title", "text"), Columns("text", "title", "_id")),
        (("id", "contents"), Columns("contents", "", "id")),
        (("DocNo", "Headline", " Body "), Columns(" Body ", "Headline", "DocNo")),
        (("text", "content", "id", "_id"), Columns("text", "", "_id")),
        (("pid", "passage"), Columns("passage", "", "pid")),
        (("page_content", "metadata"), Columns("page_content")),
    ],
)
def test_known_names_are_recognised(names: tuple[str, ...], columns: Columns) -> None:
    assert chosen(*names) == columns


def test_named_columns_win_and_are_not_used_twice() -> None:
    assert chosen("id", "text", "body", text_column="body") == Columns("body", "", "id")
    assert chosen("id", "title", "text", text_column="title") == Columns("title", "", "id")
    assert chosen("id", "key", "text", id_column="key") == Columns("text", "", "key")


def test_a_dash_stands_for_no_column() -> None:
    columns = chosen("id", "title", "text", id_column="-", title_column="-")
    assert columns == Columns("text")


def test_the_column_with_the_most_words_is_the_text() -> None:
    rows: list[Any] = [
        {"a": "x", "b": "one two three four", "c": 7},
        {"a": "y z", "b": "five six", "c": None},
    ]
    assert choose_columns(rows, SourceOptions(), "a.csv") == Columns("b")


def test_a_column_that_does_not_exist_is_refused_with_the_columns() -> None:
    with pytest.raises(Exception, match=r"no column 'body' \(--text-column\); it has 'id', 'text'"):
        chosen("id", "text", text_column="body")
    with pytest.raises(Exception, match=r"no column 'x' \(--id-column\)"):
        chosen("id", "text", id_column="x")


def test_many_columns_are_shortened() -> None:
    with pytest.raises(Exception, match=r"'c11', …") as raised:
        chosen(*(f"c{number}" for number in range(1000)), text_column="x" * 10)
    assert len(str(raised.value)) < 300


def test_short_values_are_no_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,x\n2,y\n")
    assert "no column of a.csv looks like a text; it has 'a', 'b'. Pass --text-column" in (
        refused(path)
    )
    assert [each.text for each in read(path, text_column="b")] == ["x", "y"]


def test_the_guess_is_announced(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "nr,heading,body\n1,Cats,They sleep.\n")
    assert announced(path) == (
        "a.csv: the text is 'body', the title is 'heading', ids are numbered"
    )
