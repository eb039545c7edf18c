from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.sources.reading import announced, read, refused, write

from ranklet.corpus.sources.cells import Records
from ranklet.corpus.sources.columns import SAMPLE, Columns, Survey, choose_columns
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source


def chosen_of(*rows: Mapping[str, Any], **options: Any) -> Columns:
    survey = Survey()
    for row in rows:
        survey.add(row, row)
    return choose_columns(survey, SourceOptions(**options), "a.csv")


def chosen(*names: str, **options: Any) -> Columns:
    columns = chosen_of(dict.fromkeys(names, "some words here and there"), **options)
    return replace(columns, unsearched=())


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("_id", "title", "text"), Columns(("text",), "title", "_id")),
        (("id", "contents"), Columns(("contents",), "", "id")),
        (("DocNo", "Headline", " Body "), Columns((" Body ",), "Headline", "DocNo")),
        (("text", "content", "id", "_id"), Columns(("text",), "", "_id")),
        (("pid", "passage"), Columns(("passage",), "", "pid")),
        (("page_content", "metadata"), Columns(("page_content",))),
    ],
)
def test_known_names_are_recognised(names: tuple[str, ...], columns: Columns) -> None:
    assert chosen(*names) == columns


def test_named_columns_win_and_are_not_used_twice() -> None:
    assert chosen("id", "text", "body", text_column="body") == Columns(("body",), "", "id")
    assert chosen("id", "title", "text", text_column="title") == Columns(("title",), "", "id")
    assert chosen("id", "key", "text", id_column="key") == Columns(("text",), "", "key")


def test_a_dash_stands_for_no_column() -> None:
    columns = chosen("id", "title", "text", id_column="-", title_column="-")
    assert columns == Columns(("text",))


def test_the_column_with_the_most_words_is_the_text() -> None:
    rows: list[Any] = [
        {"a": "x", "b": "one two three four", "c": 7},
        {"a": "y z", "b": "five six", "c": None},
    ]
    assert chosen_of(*rows) == Columns(("b",))


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


@pytest.mark.parametrize(
    ("names", "text", "title"),
    [
        ("question answer", "answer", "question"), ("prompt completion", "completion", "prompt"),
        ("summary text", "text", "summary"), ("abstract body", "abstract body", ""),
        ("product_name description", "description", "product_name"),
        ("subject body", "body", "subject"),
        ("headline article", "article", "headline"),
        ("term definition", "definition", "term"), ("name bio", "bio", "name"),
        ("instruction input output", "input output", "instruction"),
        ("frage antwort", "antwort", "frage"),
        ("title question answer", "question answer", "title"),
        ("Question AnswerText", "AnswerText", "Question"),
        ("titre résumé texte", "résumé texte", "titre"),
        ("título pregunta respuesta", "pregunta respuesta", "título"),
        ("質問 回答", "回答", "質問"), ("Заголовок Текст", "Текст", "Заголовок"),
        ("page-title page-content", "page-content", "page-title"),
        ("postTitle postBody", "postBody", "postTitle"),
        ("article abstract", "abstract article", ""),
    ],
)  # fmt: skip
def test_what_belongs_to_a_text_is_searched(names: str, text: str, title: str) -> None:
    row = dict.fromkeys(names.split(), "some words here and there 日本語で書く")
    assert chosen_of(row) == Columns(tuple(text.split()), title)


def test_a_long_question_is_a_part_of_the_text_and_no_title() -> None:
    row = {"question": "so many words " * 20, "answer": "Yes, it is."}
    assert chosen_of(row) == Columns(("question", "answer"))


def test_every_other_column_of_texts_is_named() -> None:
    row = {
        "text": "Some words of a text.", "content": "Other words of it.", "title": "Cats",
        "name": "Tom",
        "author": "Ann B. Lee", "url": "https://a.b/c/d", "date": "2024-05-31 10:00:00",
        "tags": ["a b", "c"],
        "year": 2024, "note": ["A sentence of words.", "Another."], "empty": "",
    }  # fmt: skip
    columns = chosen_of(row)
    assert columns == Columns(("text",), "title", "", ("content", "name", "author", "note"))
    assert str(columns).endswith(
        "; not searched: 'content', 'name', 'author', 'note' (to include, pass --text-column "
        "'text,content,name,author,note')"
    )


def test_several_columns_can_make_the_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,id,c\nOne.,Two.,x,3\n,Four.,y,5\n")
    assert [each.text for each in read(path, text_column="b, a")] == ["Two.\n\nOne.", "Four."]
    assert "no column 'd' (--text-column)" in refused(path, text_column="a,d")
    path = write(tmp_path / "b.csv", '"a,b",a,b\nOne.,2,3\n')
    assert [each.text for each in read(path, text_column="a,b")] == ["One."]


def test_a_column_counts_if_any_record_has_it() -> None:
    rows: list[Any] = [{"id": str(n), "text": f"note {n}"} for n in range(500)]
    rows[400] |= {"title": "Late", "summary": "Some words of it."}
    assert chosen_of(*rows) == Columns(("summary", "text"), "title", "id")


def test_a_text_or_an_id_that_most_records_lack_is_no_choice() -> None:
    rows: list[Any] = [{"doc_id": str(n), "body": "some words here"} for n in range(500)]
    rows[400] |= {"id": "7", "text": "some words there"}
    assert chosen_of(*rows) == Columns(("body",), "", "doc_id", ("text",))


def test_a_title_is_one_although_all_values_are_missing() -> None:
    rows: list[Any] = [{"title": "", "summary": None, "text": "some words here"}]
    assert chosen_of(*rows) == Columns(("summary", "text"), "title")


def test_an_id_of_something_else_is_no_id() -> None:
    assert chosen_of({"text": "some words here", "product_id": "1", "author_id": "2"}).id == ""


def test_the_guess_is_announced(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "nr,heading,body\n1,Cats,They sleep.\n")
    assert announced(path) == (
        "a.csv: the text is 'body', the title is 'heading', ids are numbered"
    )


@pytest.mark.parametrize(
    ("names", "empty", "begun"),
    [
        ("id,title,text", (), True),
        ("id,title,text", (5,), False),  # an empty value, so the rest may be empty, too
        ("id,summary,text", (), False),  # two columns that may be the text
        ("id,doc_id,text", (), False),
        ("a,b,c", (), False),
    ],
)
def test_only_the_beginning_of_a_table_is_surveyed_if_the_rest_changes_nothing(
    tmp_path: Path, names: str, empty: tuple[int, ...], begun: bool
) -> None:
    rows = [f"{at},{'' if at in empty else 'Bread'},knead the dough" for at in range(3 * SAMPLE)]
    (tmp_path / "t.csv").write_text("\n".join([names, *rows]) + "\n", "utf-8")
    source = Source(tmp_path / "t.csv")
    read: list[int] = []
    records = source._records

    def counted() -> Records:
        read.append(0)
        for record in records():
            read[-1] += 1
            yield record

    source._records = counted  # type: ignore[method-assign]
    assert len(list(source.whole())) == 3 * SAMPLE
    assert read == [SAMPLE if begun else 3 * SAMPLE, 3 * SAMPLE]
