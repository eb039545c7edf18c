"""Read the sheets of Excel files: .xlsx (ISO/IEC 29500)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.sources.cells import Record, Records, as_text
from ranklet.corpus.sources.documents.archive import NO_ATTRIBUTES, Archive, Event
from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.corpus.sources.tables import check_names

_COLUMNS = 16_384
_DAYS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built-in formats
# Parts of a format that show no value: texts, colours and conditions, and characters as they are.
_NO_VALUE = re.compile(r'"[^"]*"|\[(?![hms]+\])[^\]]*\]|\\.|_.|\*.', re.IGNORECASE)

Row = dict[int, Any]  # values by their columns, from 0, without missing ones


class Sheet(NamedTuple):
    """A sheet: its name, and its rows by their numbers, which are read as they are asked for."""

    name: str
    rows: Iterator[tuple[int, Row]]


def read_sheets(path: Path) -> Parts:
    """Yield each sheet as a text, with a paragraph per row."""
    with Archive(path) as archive:
        for page, sheet in enumerate(_sheets(archive), 1):
            rows = (map(as_text, row.values()) for _, row in sheet.rows)
            text = "\n\n".join(" | ".join(filter(None, row)) for row in rows)
            yield Part(f"{path.stem}: {sheet.name}", text, page)


def read_rows(path: Path, *, header: bool) -> Records:
    """Yield the rows of all sheets, whose columns are named by the first row of each.

    Args:
        path: the file.
        header: whether the first row names the columns; else they are "1", "2", and so on.

    Raises:
        CollectionError: the file is damaged, or two columns of a sheet have one name.
    """
    with Archive(path) as archive:
        for page, sheet in enumerate(_sheets(archive), 1):
            names: dict[int, str] = {}
            for number, row in sheet.rows:
                place = f"{path}, {sheet.name}, row {number}"
                if header and not names:
                    names = {column: str(as_text(each)).strip() for column, each in row.items()}
                    check_names(list(names.values()), place)
                    continue
                fields = {names.get(column, str(column + 1)): each for column, each in row.items()}
                yield Record(place, {"page": page, **dict.fromkeys(names.values()), **fields})


def _sheets(archive: Archive) -> Iterator[Sheet]:
    main = archive.main()
    related = archive.related(main)
    targets = dict(related.values())
    shared, days, begin = list[str](), set[str](), datetime(1899, 12, 30)
    if "sharedStrings" in targets:
        shared += _read_shared(archive.events(targets["sharedStrings"]))
    if "styles" in targets:
        days = _formats_of_days(archive.events(targets["styles"]))
    for kind, name, attributes in archive.events(main):
        if name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            begin = datetime(1904, 1, 1)
        elif name == "sheet" and kind == "begin":
            found = related[attributes["r:id"]]
            if found.kind == "worksheet":  # and no chart
                rows = _rows(archive.events(found.target), shared, days, begin)
                yield Sheet(attributes.get("name", ""), rows)


def _read_shared(events: Iterable[Event]) -> Iterator[str]:
    """Yield the texts that cells name by their numbers, without readings of Japanese words."""
    pieces: list[str] = []
    text = reading = False
    for kind, name, _ in events:
        if kind == "text":
            if text and not reading:
                pieces.append(name)
        elif name == "t":
            text = kind == "begin"
        elif name == "rPh":
            reading = kind == "begin"
        elif name == "si":
            if kind == "end":
                yield "".join(pieces)
            pieces = []


def _formats_of_days(events: Iterable[Event]) -> set[str]:
    """Return the numbers of the cells' styles that show a number as a date."""
    own, used, inside = dict[str, str](), list[str](), False  # formats, and those of the styles
    for kind, name, attributes in events:
        if name == "cellXfs":
            inside = kind == "begin"
        elif kind == "begin" and name == "numFmt":
            own[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif kind == "begin" and name == "xf" and inside:
            used.append(attributes.get("numFmtId", "0"))
    days = {str(each) for each in _DAYS} | {each for each in own if shows_day(own[each])}
    return {str(number) for number, each in enumerate(used) if each in days}


def shows_day(code: str) -> bool:
    """Return whether a format shows a number as a date or time.

    >>> [shows_day(each) for each in ("yyyy-mm-dd", '0.00 "days"', "[Red]#,##0", "[h]:mm")]
    [True, False, False, True]
    """
    return bool(re.search("[ymdhs]", _NO_VALUE.sub("", code.partition(";")[0]), re.IGNORECASE))


def _rows(
    events: Iterable[Event], shared: list[str], days: set[str], begin: datetime
) -> Iterator[tuple[int, Row]]:
    """Yield the rows that have values."""
    row, pieces, cell = Row(), list[str](), NO_ATTRIBUTES
    number, column, reading = 0, -1, False
    for kind, name, attributes in events:
        if kind == "text":
            if reading:
                pieces.append(name)
        elif name in ("v", "t"):  # a value, or a text in the cell itself
            reading = kind == "begin"
        elif name == "c" and kind == "begin":
            cell, pieces = attributes, []
            column = _column(attributes.get("r", "")) if "r" in attributes else column + 1
        elif name == "c":
            value = _value("".join(pieces), cell, shared, days, begin)
            if value is not None and value != "":
                row[column] = value
        elif name == "row" and kind == "begin":
            number = int(attributes.get("r", number + 1))
            row, column = Row(), -1
        elif name == "row" and row:
            yield number, row


def _value(
    text: str, cell: Mapping[str, str], shared: list[str], days: set[str], begin: datetime
) -> Any:
    """Return the value of a cell; None for none, and for an error."""
    kind = cell.get("t", "n")
    if kind == "s":
        return shared[int(text)]
    if kind == "b":
        return text == "1"
    if kind != "n":
        return None if kind == "e" else text
    if not text:
        return None
    number = float(text)
    if cell.get("s") in days:
        try:
            moment = begin + timedelta(days=number)
        except OverflowError:
            return number
        moment = (moment + timedelta(microseconds=500_000)).replace(microsecond=0)
        return moment.date() if number.is_integer() else moment
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else number


def _column(place: str) -> int:
    """Return the column of a cell.

    >>> _column("A1"), _column("AB12")
    (0, 27)
    """
    column = 0
    for letter in place.rstrip("0123456789"):
        column = column * 26 + ord(letter) - ord("A") + 1
    if not 0 < column <= _COLUMNS:
        raise ValueError(f"a cell is at {place!r:.20}, and a sheet has {_COLUMNS:,} columns")
    return column - 1
