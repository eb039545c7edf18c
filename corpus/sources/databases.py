"""Read rows of an SQLite database, ``sqlite:///FILE?table=NAME`` or ``?query=SELECT …``."""

import os
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
from ranklet.runtime.ground.errors import CollectionError, InputError

SCHEME = "sqlite:///"
# Apart, because messages hide what stands behind the "?" of an address.
ADVICE = f"give {SCHEME}FILE with ?table=NAME behind it"
# What a query may not do, besides writing, which the connection refuses: it might reach other files
# or code. Of what SQLite says of itself, its full-text searches need two things.
_DENIED = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
_NO_FUNCTIONS = ("load_extension", "fts3_tokenizer")
_PRAGMAS = ("data_version", "page_size")
# Characters that a byte of a database may become by a view, and what any database may.
_DENSEST, _SMALLEST = 100, 1 << 23
_NUMBER = 8  # characters that a value counts at least
_PATIENCE = 5.0  # seconds that a program which writes is waited for
_STEPS = 100_000  # of SQLite, after which Python looks whether Ctrl-C was pressed
_ADVICE = {
    sqlite3.SQLITE_BUSY: "another program writes to it, so try again later",
    sqlite3.SQLITE_READONLY_ROLLBACK: "a program was ended while it wrote, so open it by that once",
    sqlite3.SQLITE_TOOBIG: f"a value or a row has more than {LONGEST:,} bytes, so name the columns "
    "that are needed by ?query=SELECT…",
}


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
            database.execute("PRAGMA query_only = ON")
            database.set_authorizer(_authorize)
            rows = database.execute(query)
            names = [each[0] for each in rows.description or ()]
            check_names(names, self.path)
            left = most = max(_SMALLEST, _DENSEST * self.path.stat().st_size)
            for number, row in enumerate(rows, start=1):
                left -= sum(len(each) if isinstance(each, str) else _NUMBER for each in row)
                if left < 0:
                    raise CollectionError(
                        f"{self.path} stands for more than {most:,} characters, {_DENSEST} times "
                        "its bytes; select fewer rows or columns"
                    )
                position.done = number
                yield as_record(f"{self.path}, row {number}", dict(zip(names, row, strict=True)))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the database so that nothing is written, nor left beside it.

        Raises:
            CollectionError: it does not exist, SQLite refuses something, or it was changed while it
                was read without a lock.
            KeyboardInterrupt: Ctrl-C was pressed while SQLite looked for a row.
        """
        if not self.path.is_file():
            raise CollectionError(f"{self.path} does not exist; {ADVICE}")
        path = self.path.resolve()
        try:
            unlocked, before = _unlocked(path), _state(path)
            address = f"file:{quote(str(path))}?mode=ro{unlocked}"
            with closing(sqlite3.connect(address, _PATIENCE, uri=True)) as database:
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
                if "vfs" in unlocked:
                    database.execute("PRAGMA locking_mode = EXCLUSIVE")  # so it shares no memory
                database.set_progress_handler(lambda: 0, _STEPS)
                database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                yield database
        except (sqlite3.Error, sqlite3.Warning) as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code == sqlite3.SQLITE_INTERRUPT:
                raise KeyboardInterrupt from None
            general = _ADVICE.get(code & 0xFF, "only a query that reads it is allowed")
            advice = _ADVICE.get(code, general)
            raise CollectionError(f"{self.path} cannot be read: {error}; {advice}") from None
        except OSError as error:
            raise CollectionError(
                f"{self.path} cannot be read ({error.strerror or error})"
            ) from None
        if unlocked and _state(path) != before:
            raise CollectionError(f"{self.path} was changed while it was read; read it again")

    def _find_table(self, database: sqlite3.Connection) -> str:
        """Return the name of the table, or of the only one."""
        found = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        names = [str(name) for (name,) in found]
        if self.table.lower() in map(str.lower, names):  # as SQLite compares them
            return self.table
        kinds = database.execute("PRAGMA table_list")  # nothing before SQLite 3.37
        shadows = {name for _, name, kind, *_ in kinds if kind == "shadow"}  # of virtual tables
        names = [name for name in names if name not in shadows]
        if len(names) == 1 and not self.table:
            return names[0]
        given = f"no table {self.table!r}" if self.table else f"{len(names):,} tables"
        raise InputError(
            f"{self.path} has {given}; put ?table=NAME behind the address, with one of "
            f"{', '.join(map(repr, names[:20])) or 'none'}"
        )


def open_database_file(address: str) -> Database:
    """Return the rows that an address names; what follows ``query=`` may be written as it is.

    >>> open_database_file("sqlite:///a.db?query=SELECT a FROM b WHERE c=1").query
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


def _unlocked(path: Path) -> str:
    """Return how SQLite opens a database that nobody has open, and that needs files beside it.

    Readers of a database in WAL mode make two files (https://www.sqlite.org/wal.html), and leave
    them if they may not write. They need neither while no program shares the database.
    """
    with path.open("rb") as file:
        log = file.read(20)[18:] == b"\2\2"
    if not log or Path(f"{path}-shm").exists():
        return ""
    if _state(path)[-1]:  # what was written last is still in the log
        return "&vfs=unix-none" if os.name == "posix" else "&vfs=win32-none"
    return "&immutable=1"


def _state(path: Path) -> tuple[int, int, int]:
    """Return what changes if a program writes to a database, with the size of its log last."""
    log = Path(f"{path}-wal")
    status = path.stat()
    return status.st_mtime_ns, status.st_size, log.stat().st_size if log.exists() else 0


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    denied = (
        action in _DENIED
        or (action == sqlite3.SQLITE_FUNCTION and second in _NO_FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first not in _PRAGMAS)
    )
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def _quote(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
