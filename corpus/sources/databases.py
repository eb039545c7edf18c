"""Read rows of an SQLite database, ``sqlite:///FILE?table=NAME`` or ``?query=SELECT …``."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from ranklet.corpus.collections.bounds import LONGEST
from ranklet.corpus.collections.opening import Position
from ranklet.corpus.sources.arrow import check_names
from ranklet.corpus.sources.cells import Records
from ranklet.corpus.sources.json_files import as_record
from ranklet.runtime.errors import CollectionError, InputError

SCHEME = "sqlite:///"
# Apart, because messages hide what stands behind the "?" of an address.
ADVICE = f"give {SCHEME}FILE with ?table=NAME behind it"
# All that a query may do. Others write, or read other files.
_ALLOWED = (
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
)  # fmt: skip


@dataclass(frozen=True)
class Database:
    """The rows of a table or of a query.

    Attributes:
        path: the database.
        table: the table's name; "" for the only one.
        query: a SELECT in place of a table; "" for none.
        are_texts: whether each row is a file, which it is not.
        twice: whether the rows can be read twice.
    """

    path: Path
    table: str = ""
    query: str = ""
    are_texts: bool = False
    twice: bool = True

    def position(self) -> Position:
        """Return a position at the beginning; nobody knows how many rows there are."""
        return Position(0)

    def records(self, position: Position) -> Records:
        """Yield the rows.

        Raises:
            CollectionError: the file is no database, or the query fails or would write.
            InputError: the table does not exist, or two columns have one name.
        """
        with self._open() as database:
            query = self.query or f"SELECT * FROM {_quote(self._find_table(database))}"  # noqa: S608
            database.set_authorizer(_authorize)
            rows = database.execute(query)
            names = [each[0] for each in rows.description or ()]
            check_names(names, self.path)
            for number, row in enumerate(rows, start=1):
                position.done = number
                yield as_record(f"{self.path}, row {number}", dict(zip(names, row, strict=True)))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not self.path.is_file():
            raise CollectionError(f"{self.path} does not exist; {ADVICE}")
        address = f"file:{quote(str(self.path))}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as database:
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 * LONGEST)
                database.execute("PRAGMA trusted_schema = OFF")
                database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                yield database
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise CollectionError(
                f"{self.path} cannot be read: {error}; only a query that reads it is allowed"
            ) from None

    def _find_table(self, database: sqlite3.Connection) -> str:
        """Return the name of the table, or of the only one."""
        found = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        names = [name for (name,) in found]
        if self.table in names or (len(names) == 1 and not self.table):
            return self.table or names[0]
        given = f"no table {self.table!r}" if self.table else f"{len(names):,} tables"
        raise InputError(
            f"{self.path} has {given}; put ?table=NAME behind the address, with one of "
            f"{', '.join(map(repr, names[:20])) or 'none'}"
        )


def database_of(address: str) -> Database:
    """Return the rows that an address names; what follows ``query=`` may be written as it is.

    >>> database_of("sqlite:///a.db?query=SELECT a FROM b WHERE c=1").query
    'SELECT a FROM b WHERE c=1'

    Raises:
        InputError: the address asks for something else.
    """
    path, _, asked = address.removeprefix(SCHEME).partition("?")
    name, _, value = asked.partition("=")
    if not path or (asked and (name not in ("table", "query") or not value)):
        raise InputError(f"{address!r} is not understood; {ADVICE}, or ?query=SELECT…")
    table, query = (unquote(value) if name == each else "" for each in ("table", "query"))
    return Database(Path(unquote(path)), table, query)


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _quote(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
