"""Read CSV and TSV files."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ranklet.corpus.collections.bounds import LONGEST, PIECES, count_pieces
from ranklet.corpus.collections.opening import Position, format_suffix, lines, open_text
from ranklet.corpus.sources.cells import Bad, Cell, Record, Records
from ranklet.runtime.ground.errors import CollectionError

DELIMITERS = (",", ";", "\t", "|", ", ", "; ", "| ")  # a space: those behind it are no data
SAMPLE, SAMPLED = 50, 1 << 20  # lines and characters from which the delimiter is guessed
MAX_LINES = 100  # of one row of a table with tabs

_REASONS = {  # by the ends of the messages of the module csv
    "unexpected end of data": "the quote that begins here has no end",
    "expected after '\"'": "text follows a closing quote; inside a field, write quotes twice, and "
    "not behind backslashes",
    # An unclosed quote would otherwise read a whole file as one field.
    "field larger than field limit": f"a field has more than {LONGEST:,} characters; is a quote "
    "not closed?",
}


class Row(NamedTuple):
    """One row of a table, or why it cannot be read."""

    line: int  # of its beginning, from 1
    fields: Sequence[str]
    error: str = ""


def read_table(
    path: Path, encoding: str, *, header: bool, position: Position | None = None
) -> Records:
    """Yield the rows of a table, whose columns are named by its first line.

    The delimiter of a .csv file is the one that divides its first lines most evenly, with or
    without spaces behind it.

    Args:
        path: the file.
        encoding: the table's encoding.
        header: whether the first line names the columns; else they are "1", "2", and so on.
        position: counts the bytes that are read.

    Raises:
        CollectionError: the file is empty or no table, or two columns have one name.
    """
    csv.field_size_limit(LONGEST)
    with open_text(path, encoding, position) as file:
        remaining = _count_fields(path, lines(path, file))
        sample = _sample(remaining)
        _check_first(sample, path)
        delimiter = _delimiter(sample, path)
        given = chain(sample, remaining)
        rows = _of_tabs(given) if delimiter[0] == "\t" else _rows(path, given, delimiter)
        first = next(rows, None)
        if first is None:
            raise CollectionError(f"{path} has no row")
        if first.error:
            raise CollectionError(f"{path}:{first.line} is no first line of a table: {first.error}")
        if header:
            names: Sequence[str] = [name.strip() for name in first.fields]
            check_names(names, f"{path}:{first.line}")
        else:
            names = [str(number) for number in range(1, len(first.fields) + 1)]
            rows = chain([first], rows)
        for row in rows:
            place = f"{path}:{row.line}"
            if not row.error and not any(map(str.strip, row.fields)):
                continue  # spreadsheets end with such rows
            if row.error:
                yield Bad(place, "broken", row.error)
            elif len(row.fields) != len(names):
                yield Bad(place, "broken", _wrong_width(len(row.fields), len(names)))
            else:
                yield Record(place, dict(zip(names, map(Cell, row.fields), strict=True)))


def _count_fields(path: Path, lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        count_pieces(line, "".join(each[0] for each in DELIMITERS[:4]), f"{path}:{number}")
        yield line


def _sample(lines: Iterator[str]) -> list[str]:
    sample: list[str] = []
    while len(sample) < SAMPLE and sum(map(len, sample)) < SAMPLED:
        if (line := next(lines, None)) is None:
            break
        sample.append(line)
    return sample


def _rows(path: Path, lines: Iterator[str], delimiter: str) -> Iterator[Row]:
    """Yield the rows of a table, in which quotes are written twice."""
    size, fields, begin = 0, 0, 1

    def bounded() -> Iterator[str]:
        nonlocal size, fields
        for each in lines:
            size, fields = size + len(each), fields + each.count(delimiter[0])
            if size > 2 * LONGEST or fields > PIECES:  # of several quoted fields, or lines
                raise CollectionError(f"{path}:{begin} begins a row of over {size:,} characters")
            yield each

    spaced = len(delimiter) > 1
    reader = csv.reader(bounded(), delimiter=delimiter[0], skipinitialspace=spaced, strict=True)
    while True:
        size, fields, begin = 0, 0, reader.line_num + 1
        try:
            row = Row(begin, next(reader))
        except StopIteration:
            return
        except csv.Error as error:
            row = Row(begin, (), _reason(error))
        if row.fields or row.error:
            yield row


def _of_tabs(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a table with tabs, in which quotes may be plain characters.

    Such tables are written with quoting (by spreadsheets) and without it (MS MARCO). Quotes are
    removed only where they are well formed. A quoted field other than the first ends before a line
    that has all the tabs, unless all fields of the first line are quoted.
    """
    source, later = iter(lines), deque[str]()
    width, number, all_quoted = 0, 1, False
    while (line := _next(later, source)) is not None:
        plain, fields, read = line.rstrip("\r\n").split("\t"), _read_quoted([line]), [line]
        size, tabs = len(line), line.count("\t")
        while (
            '"' in line and not fields and len(read) < MAX_LINES and max(size / 32, tabs) < PIECES
        ):
            following = _next(later, source)
            if following is None:
                break
            if len(plain) > 1 and not all_quoted and following.count("\t") + 1 == width:
                later.appendleft(following)
                break
            read.append(following)
            size, tabs = size + len(following), tabs + following.count("\t")
            fields = _read_quoted(read)
        if fields and len(fields) == (width or len(fields)):
            row = fields
        else:  # the quotes are plain characters, or the line is broken
            later.extendleft(reversed(read[1:]))
            row, read = plain, read[:1]
        if plain != [""]:
            if not width:
                width, all_quoted = len(row), all(map(_is_quoted, plain))
            yield Row(number, row)
        number += len(read)


def _is_quoted(field: str) -> bool:
    return len(field) > 1 and field[0] == field[-1] == '"'


def _next(later: "deque[str]", source: Iterator[str]) -> str | None:
    return later.popleft() if later else next(source, None)


def _read_quoted(lines: list[str]) -> list[str]:
    """Return the fields of the row that these lines make up; nothing if they are not one row."""
    reader = csv.reader(lines, delimiter="\t", strict=True)
    try:
        fields = next(reader, [])
    except csv.Error:
        return []
    return fields if reader.line_num == len(lines) else []


def _reason(error: csv.Error) -> str:
    found = str(error)
    return next((why for end, why in _REASONS.items() if end in found), found)


def _wrong_width(fields: int, columns: int) -> str:
    what = "1 field" if fields == 1 else f"{fields} fields"
    return f"{what} in a table of {columns} column{'s' * (columns > 1)}"


def _check_first(sample: Sequence[str], path: Path) -> None:
    if not sample:
        raise CollectionError(f"{path} is empty; its first line must name the columns")
    first = sample[0]
    if not first.strip():
        raise CollectionError(f"{path}: the first line is empty; it must name the columns")
    if first.lstrip().startswith(("{", "[")):
        right = "jsonl" if first.lstrip().startswith("{") else "json"
        raise CollectionError(
            f"{path}:1 looks like JSON, although the file is read as a table; pass --format {right}"
        )
    if first.lower().startswith("sep=") and len(first.strip()) <= len("sep=;"):
        raise CollectionError(
            f"{path}:1 is {first.strip()!r}, which only Excel reads; delete this line"
        )
    if "\0" in first:
        raise CollectionError(
            f"{path}:1 contains zero bytes, so it is no text in this encoding; pass --encoding "
            "utf-16 or the right --format"
        )


def _delimiter(sample: Sequence[str], path: Path) -> str:
    if format_suffix(path) in (".tsv", ".tab"):
        return "\t"

    def evenness(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        with suppress(csv.Error):  # a field is too long
            spaced = len(delimiter) > 1
            rows = csv.reader(sample, delimiter=delimiter[0], skipinitialspace=spaced)
            widths += (len(row) for row in rows if row)
        width = widths[0] if widths else 0
        return (widths.count(width) / len(widths) if width > 1 else 0.0), width

    best = max(DELIMITERS, key=evenness)
    places = sample[0].count(best)
    return f"{best} " if 0 < places == sample[0].count(f"{best} ") else best


def check_names(names: Sequence[str], place: str) -> None:
    """Raise CollectionError if two columns of a table have one name."""
    named = [name for name in names if name.strip()]  # spreadsheets leave empty columns
    doubled = next((name for name in named if named.count(name) > 1), None)
    if doubled is not None:
        raise CollectionError(
            f"{place}: the column {doubled!r} occurs twice; rename one, or pass --no-header "
            "if the first line is data"
        )
