from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.corpus.sources.reading import CATS, DOGS, read, refused, write

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources import tables

HEADER = ("id", "title", "text")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_file_is_guessed(delimiter: str, tmp_path: Path) -> None:
    lines = [delimiter.join(row) for row in (HEADER, CATS[:3], DOGS[:3])]
    assert read(write(tmp_path / "a.csv", "\n".join(lines))) == [CATS, DOGS]


def test_commas_in_texts_are_no_delimiters(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id;text\n1;One, two, three\n2;Four, five\n")
    assert [each.text for each in read(path)] == ["One, two, three", "Four, five"]


@pytest.mark.parametrize("header", ["id, title, text", "id,title,text", "id , title , text"])
def test_spaces_behind_delimiters_are_no_data(header: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", header + '\n1, Cats, "They sleep, all."\n2, A, "b, c"\n')
    assert read(path) == [CATS._replace(text="They sleep, all."), Document("2", "A", "b, c")]


def test_quoted_fields_keep_line_breaks_and_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text\r\n1,"One\r\ntwo ""three"""\r\n2,four\r\n')
    assert [each.text for each in read(path)] == ['One\r\ntwo "three"', "four"]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", "id,title,text\n1,Cats,They sleep.", "utf-8-sig")) == [
        CATS
    ]


def test_lines_of_empty_fields_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,title,text,\n1,Cats,They sleep.,\n,,,\n , ,,\n")
    assert read(path) == [CATS]


def test_a_table_with_tabs_may_have_plain_quotes(tmp_path: Path) -> None:
    rows = ['1\t"Cats" sleep', '2\t"Dogs bark', '3\t"One\ntwo"', '4\t"a ""b"""', "5\tfive"]
    path = write(tmp_path / "a.tsv", "id\ttext\n" + "\n".join(rows) + "\n")
    texts = ['"Cats" sleep', '"Dogs bark', "One\ntwo", 'a "b"', "five"]
    assert [each.text for each in read(path)] == texts


def test_a_broken_line_between_tabs_is_reported_with_its_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", 'id\ttext\n1\tone\n2\n\n3 "x\n4\tfour\n')
    assert f"2 records cannot be read: {path}:3 (1 field in a table of 2 columns), {path}:5" in (
        refused(path)
    )
    assert [each.id for each in read(path, skip_bad=True)] == ["1", "4"]


def test_without_a_header_columns_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "7\tCats sleep all day\n8\tDogs bark\n")
    documents = read(path, header=False, id_column="1")
    assert [(each.id, each.text) for each in documents] == [
        ("7", "Cats sleep all day"),
        ("8", "Dogs bark"),
    ]


def test_a_quoted_first_row_may_have_line_breaks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", '7,"Cats\nsleep all day"\n8,Dogs bark\n')
    assert [each.text for each in read(path, header=False)] == ["Cats\nsleep all day", "Dogs bark"]


def test_an_unclosed_quote_is_found_where_it_begins(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text\n1,one\n2,"two\n3,three\n')
    assert f"{path}:3 (the quote that begins here has no end)" in refused(path)
    assert [each.id for each in read(path, skip_bad=True)] == ["1"]


def test_text_after_a_closing_quote_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text\n1,"one" two\n2,two\n')
    assert f"{path}:2 (text follows a closing quote" in refused(path)
    assert [each.id for each in read(path, skip_bad=True)] == ["2"]


@pytest.mark.usefixtures("csv_limit")
def test_a_very_long_field_is_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.csv", f"id,text\n1,{'word ' * 380}\n2,two\n")
    assert len(read(path, passage_words=0)) == 2
    monkeypatch.setattr(tables, "LONGEST", 1000)
    assert "1 record cannot be read" in refused(path)
    assert [each.id for each in read(path, skip_bad=True)] == ["2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; its first line must name the columns"),
        ("\nid,text\n", "the first line is empty"),
        ('{"text": "a"}\n', "looks like JSON, although the file is read as a table; pass --format"),
        ("[1]", "pass --format json"),
        ("text,text\na,b\n", "the column 'text' occurs twice; rename one, or pass --no-header"),
        ("id,text\n", "has no document"),
        ("sep=;\r\nid;text\r\n1;a\r\n", "1 is 'sep=;', which only Excel reads; delete this line"),
        ('id,text\n1,"say \\"a\\""\n', "write quotes twice, and not behind backslashes"),
        ("a\0b\n", "contains zero bytes, so it is no text in this encoding; pass --encoding"),
        ('"id,text\n1,one\n', "is no first line of a table: the quote that begins here has no end"),
    ],
)
def test_a_file_that_is_no_table_is_refused(content: str, message: str, tmp_path: Path) -> None:
    assert message in refused(write(tmp_path / "a.csv", content))


def test_backslashes_are_plain(tmp_path: Path) -> None:
    rows = [
        '1,"C:\\new\\"',
        '2,"a ""C:\\"""',
        '3,G\\"odel',
        "4,\\\\server\\d",
        '5,"a\\"b',
        '6,"x"',
        "7,a\\b",
    ]
    path = write(tmp_path / "a.csv", "id,text\n" + "\n".join(rows) + "\n")
    assert f"{path}:6 (text follows a closing quote" in refused(path).splitlines()[1]
    found = [each.text for each in read(path, skip_bad=True)]
    assert found == ["C:\\new\\", 'a "C:\\"', 'G\\"odel', "\\\\server\\d", "x", "a\\b"]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('"id"\t"text"\n"1"\t"one\n\tline"\n"2"\t"two"\n', ["one\n\tline", "two"]),
        # MS MARCO has plain quotes, so the second line is a row of its own.
        ('id\ttext\n1\t"one\n2\tline"\n', ['"one', 'line"']),
        # R escapes quotes by a backslash.
        ('"id"\t"text"\n"1"\t"a \\"b"\n"2"\t"two"\n', ['"a \\"b"', "two"]),
    ],
)
def test_quotes_around_all_names_say_that_quotes_are_no_text(
    content: str, texts: list[str], tmp_path: Path
) -> None:
    found = read(write(tmp_path / "a.tsv", content), passage_words=0)
    assert [each.text for each in found] == texts


FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(max_examples=30)
@example(rows=[("", "\n\t")], delimiter="\t")
@given(
    rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5),
    delimiter=st.sampled_from(",;|\t"),
)
def test_what_the_module_csv_writes_is_read_back(
    rows: list[tuple[str, str]], delimiter: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import csv

    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerow(["name of it", "text"])
        writer.writerows([("x" + name, "y" + text) for name, text in rows])
    assert [each.text for each in read(path, passage_words=0)] == ["y" + text for _, text in rows]
