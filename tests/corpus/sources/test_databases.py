"""Rows of an SQLite database are documents, and nothing else can be done to it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.corpus.sources.reading import announced, read, refused, write

from ranklet.corpus.collections.collection import Document


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "a 1.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body, price REAL);
            INSERT INTO notes VALUES (1, 'Cats', 'They sleep', 1.5), (2, NULL, 'They bark', NULL),
                (3, 'Bad', CAST(x'ff' AS TEXT), NULL);
            CREATE TABLE "or""der" (a);
        """)
    before = path.read_bytes()
    yield f"sqlite:///{path}"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_is_read(address: str) -> None:
    first, second = read(f"{address}?table=notes", metadata="price", skip_bad=True)
    assert first == Document("1", "Cats", "They sleep", {"price": 1.5})
    assert second == Document("2", "", "They bark", {"price": None})
    assert announced(f"{address}?table=notes", skip_bad=True).startswith("a 1.db: the text is")
    assert "a 1.db, row 3 (text: byte 0xff" in refused(f"{address}?table=notes")


@pytest.mark.parametrize(
    "query",
    ["SELECT body, title FROM notes WHERE id=1 AND title LIKE '%a%' -- x?y=z&a",
     "select%20body,%20title%20from%20notes%20where%20id%3D1",
     "WITH a AS (SELECT * FROM notes LIMIT 1) SELECT upper(title) AS title, body FROM a"],
)  # fmt: skip
def test_a_query_is_read(address: str, query: str) -> None:
    (document,) = read(f"{address}?query={query}")
    assert (document.id, document.title.lower(), document.text) == ("1", "cats", "They sleep")


@pytest.mark.parametrize(
    "query",
    ["DELETE FROM notes", "ATTACH 'b.db' AS b", "PRAGMA table_info(notes)", "DROP TABLE notes",
     "SELECT load_extension('x')", "VACUUM INTO 'c.db'", "SELECT 1; SELECT 2", "SELEC", "--"],
)  # fmt: skip
def test_what_is_no_reading_is_refused_in_one_line(address: str, query: str) -> None:
    message = refused(f"{address}?query={query}")
    assert len(message.splitlines()) == 1
    assert "a 1.db" in message


def test_a_table_that_is_missing_or_one_of_several_is_named(address: str) -> None:
    for asked, said in (("", "2 tables"), ("?table=x", "no table 'x'")):
        message = refused(f"{address}{asked}")
        assert said in message
        assert message.endswith("""?table=NAME behind the address, with one of 'notes', 'or"der'""")
    assert refused(f"{address}?tabel=notes").endswith("?table=NAME behind it, or ?query=SELECT…")
    twice = refused(f"{address}?query=SELECT title, id AS title FROM notes")  # noqa: S608
    assert "two columns 'title'" in twice


def test_the_only_table_needs_no_name(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.executescript("CREATE TABLE a (text); INSERT INTO a VALUES ('some long text');")
    assert [each.text for each in read(f"sqlite:///{tmp_path / 'a.db'}")] == ["some long text"]
    assert refused(tmp_path / "a.db").endswith("give sqlite:///FILE with ?table=NAME behind it")


def test_other_files_are_no_databases(tmp_path: Path) -> None:
    write(tmp_path / "a.db", "a text that is no database at all")
    assert "file is not a database" in refused(f"sqlite:///{tmp_path / 'a.db'}")
    assert "does not exist; give sqlite:///" in refused(f"sqlite:///{tmp_path / 'b.db'}")
