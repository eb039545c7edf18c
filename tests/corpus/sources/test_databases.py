"""Rows of an SQLite database are documents, and nothing else can be done to it."""

import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.corpus.sources.reading import announced, read, refused, write

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources import databases


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
     "SELECT load_extension('x')", "VACUUM INTO 'c.db'", "SELECT 1; SELECT 2", "SELEC", "--",
     "PRAGMA query_only=OFF", "CREATE TEMP TABLE x(a)", "SELECT fts3_tokenizer('simple')",
     "REPLACE INTO notes VALUES (1, 'a', 'b', 2) RETURNING body"],
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


def database(path: Path, *statements: str) -> str:
    with closing(sqlite3.connect(path)) as made:
        for each in statements:
            made.execute(each)
        made.commit()
    return f"sqlite:///{path}"


SEARCHED = (
    "CREATE VIRTUAL TABLE notes USING fts5(title, body)",
    "INSERT INTO notes VALUES ('Cats', 'They sleep')",
    "CREATE VIEW found AS SELECT rowid AS id, body FROM notes WHERE notes MATCH 'sleep'",
    "CREATE VIEW old AS SELECT body FROM older WHERE older MATCH 'sleep'",
    "CREATE VIRTUAL TABLE older USING fts4(body)",
    "INSERT INTO older VALUES ('They sleep')",
    "CREATE VIEW listed AS SELECT value AS text FROM json_each('[\"They sleep\"]')",
)


@pytest.mark.parametrize(
    "asked",
    ["table=notes", "table=NOTES", "table=found", "table=old", "table=older", "table=listed",
     "query=SELECT value AS text FROM json_each('[\"They sleep\"]')",
     "query=SELECT body, bm25(notes) AS score FROM notes WHERE notes MATCH 'sleep'"],
)  # fmt: skip
def test_virtual_tables_are_read(tmp_path: Path, asked: str) -> None:
    address = database(tmp_path / "a.db", *SEARCHED)
    assert [each.text for each in read(f"{address}?{asked}")] == ["They sleep"]


def test_tables_behind_a_virtual_one_are_not_counted(tmp_path: Path) -> None:
    address = database(tmp_path / "a.db", *SEARCHED[:2])
    assert [each.text for each in read(address)] == ["They sleep"]


@pytest.mark.parametrize("beside", [(), ("-wal",), ("-wal", "-shm")])
@pytest.mark.parametrize("writable", [True, False])
def test_nothing_is_left_beside_a_database(
    tmp_path: Path, beside: tuple[str, ...], writable: bool
) -> None:
    made, folder = tmp_path / "made.db", tmp_path / "folder"
    folder.mkdir()
    address = database(made, "PRAGMA journal_mode = WAL", "CREATE TABLE t (text)")
    with closing(sqlite3.connect(made)) as writer:
        writer.execute("INSERT INTO t VALUES ('They sleep all day')")
        writer.commit()
        if not beside:
            writer.execute("PRAGMA wal_checkpoint")
        for end in ("", *beside):
            shutil.copy(f"{made}{end}", folder / f"a.db{end}")
    before = {each.name: each.read_bytes() for each in folder.iterdir() if each.suffix != ".db-shm"}
    folder.chmod(0o755 if writable else 0o555)
    address = f"sqlite:///{folder / 'a.db'}"
    assert [each.text for each in read(address)] == ["They sleep all day"]
    folder.chmod(0o755)
    assert {each.name for each in folder.iterdir()} == {f"a.db{end}" for end in ("", *beside)}
    assert all((folder / name).read_bytes() == data for name, data in before.items())


NUMBERS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'a' AS text"
)


def test_ctrl_c_ends_a_view_that_gives_no_row(tmp_path: Path) -> None:
    address = database(tmp_path / "a.db", f"CREATE VIEW v AS {NUMBERS} FROM n WHERE i < 0")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            read(address)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_view_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "_SMALLEST", 1)
    monkeypatch.setattr(databases, "_DENSEST", 2)
    endless = database(tmp_path / "a.db", f"CREATE VIEW v AS {NUMBERS} FROM n")
    assert "characters, 2 times its bytes; select fewer rows or columns" in refused(endless)
    query = "SELECT hex(zeroblob(20000000)) AS text"
    assert "has more than 33,554,432 bytes, so name" in refused(f"{endless}?query={query}")


def test_an_id_may_be_bytes(tmp_path: Path) -> None:
    made = ("CREATE TABLE t (id, text)", "INSERT INTO t VALUES (x'ff01', 'some words')")
    assert [each.id for each in read(database(tmp_path / "a.db", *made))] == ["ff01"]


def test_a_database_that_is_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_PATIENCE", 0)
    address = database(tmp_path / "a.db", "CREATE TABLE t (text)")
    with closing(sqlite3.connect(tmp_path / "a.db")) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert "locked; another program writes to it, so try again later" in refused(address)
