"""Read the sheets of .xlsx files (ISO/IEC 29500), and of others by calamine."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.collections.bounds import Allowance, Text
from ranklet.corpus.sources.cells import Bad, Record, Records, as_text
from ranklet.corpus.sources.documents.archive import NO_ATTRIBUTES, Archive, Event
from ranklet.corpus.sources.documents.calamine import OTHERS, as_number, read_by_calamine, show_time
from ranklet.corpus.sources.documents.part import Part, Parts, describe_fault
from ranklet.corpus.sources.tables import check_names

SHEETS = (".xlsx", *OTHERS)
_COLUMNS = 16_384
_BUILT_IN = {  # what the formats show that no file describes
    **dict.fromkeys(map(str, (*range(14, 18), 22, *range(27, 37), *range(50, 59))), "day"),
    **dict.fromkeys(map(str, (*range(18, 22), 45, 47)), "time"), "46": "span",
}  # fmt: skip
# Parts of a format that show no value: texts, colours and conditions, and characters as they are.
_NO_VALUE = re.compile(r'"[^"]*"|\[(?![hms]+\])[^\]]*\]|\\.|_.|\*.|AM/PM|A/P', re.IGNORECASE)
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")  # a character that XML cannot hold

Row = dict[int, Any]  # values by their columns, from 0, without missing ones


class Sheet(NamedTuple):
    """A sheet: its name, and its rows by their numbers, which are read as they are asked for."""

    name: str
    alone: bool  # whether its file has no other
    rows: Iterator[tuple[int, Row]]


class Book(NamedTuple):
    """What the cells of a file refer to.

    Attributes:
        texts: by their numbers.
        shows: whether a style shows a number as a "day", a "time" of day or a "span" of time.
        since_1904: whether day 0 is 1904-01-01.
    """

    texts: list[str]
    shows: Mapping[str, str]
    since_1904: bool


def read_sheets(path: Path) -> Parts:
    """Yield each sheet as a text, with a paragraph per row."""
    for page, sheet in enumerate(_open(path), 1):
        title, text = f"{path.stem}: {sheet.name}", Text(path)
        try:
            for _, row in sheet.rows:
                text.add("\n\n" * (text.size > 0))
                for column, cell in enumerate(filter(None, map(as_text, row.values()))):
                    text.add(" | " * (column > 0), cell)
        except Exception as error:
            yield Part(title, "", page, fault=describe_fault(path, error))
        else:
            yield Part(title, str(text), page)


def read_rows(path: Path, *, header: bool) -> Records:
    """Yield the rows of all sheets, whose columns are named by the first row of each.

    Args:
        path: the file.
        header: whether the first row names the columns; else they are "1", "2", and so on.

    Raises:
        CollectionError: the file is damaged.
        InputError: a package is missing.
    """
    allowance = Allowance(path)
    for page, sheet in enumerate(_open(path), 1):
        try:
            yield from _name_rows(path, sheet, page, allowance, header=header)
        except Exception as error:
            yield Bad(f"{path}, {sheet.name}", "broken", describe_fault(path, error))


def _name_rows(
    path: Path, sheet: Sheet, page: int, allowance: Allowance, *, header: bool
) -> Records:
    names: dict[int, str] = {}
    for number, row in sheet.rows:
        place = f"{path}, {sheet.name}, row {number}"
        allowance.take(len(names) + sum(len(str(each)) for each in row.values()))
        if header and not names:
            names = {column: str(as_text(each)).strip() for column, each in row.items()}
            check_names(list(names.values()), place)
            continue
        fields = {names.get(column, str(column + 1)): each for column, each in row.items()}
        own = {} if sheet.alone else {"page": page}
        yield Record(place, {**own, **dict.fromkeys(names.values()), **fields})


def _open(path: Path) -> Iterator[Sheet]:
    """Yield the sheets of a file, of which one is read at a time."""
    if path.suffix.lower() != ".xlsx":
        for name, alone, rows in read_by_calamine(path):
            yield Sheet(name, alone, rows)
        return
    with Archive(path) as archive:
        main = archive.main()
        related = archive.related(main)
        targets = dict(related.values())
        book = Book([], {}, since_1904=False)
        if "sharedStrings" in targets:
            shared = archive.events(targets["sharedStrings"])
            book.texts.extend(archive.kept(_read_shared(path, shared)))
        if "styles" in targets:
            styles = archive.kept(_read_styles(archive.events(targets["styles"])))
            book = book._replace(shows=_what_styles_show(styles))
        sheets = list[tuple[str, str]]()
        for kind, name, attributes in archive.events(main):
            if name == "workbookPr" and kind == "begin":
                book = book._replace(since_1904=attributes.get("date1904") in ("1", "true"))
            elif name == "sheet" and kind == "begin":
                found = related.get(attributes.get("r:id", ""))
                if found and found.kind == "worksheet":  # and no chart
                    sheets.append((attributes.get("name", ""), found.target))
        for title, target in sheets:
            rows = _rows(path, archive.events(target), book)
            yield Sheet(title, len(sheets) == 1, rows)


def _read_shared(path: Path, events: Iterable[Event]) -> Iterator[str]:
    """Yield the texts that cells name by their numbers, without readings of Japanese words."""
    pieces = Text(path)
    text = reading = False
    for kind, name, _ in events:
        if kind == "text":
            if text and not reading:
                pieces.add(name)
        elif name == "t":
            text = kind == "begin"
        elif name == "rPh":
            reading = kind == "begin"
        elif name == "si":
            if kind == "end":
                yield _unescape(str(pieces))
            pieces = Text(path)


def _unescape(text: str) -> str:
    r"""Return a text with the characters that stand there as numbers.

    >>> _unescape("a_x000D_\nb_x005F_x0041__xD83D__xDE00_")
    'a\nb_x0041_😀'
    """
    if "_x" not in text:
        return text
    found = _ESCAPED.sub(lambda each: chr(int(each[1], 16)), text)
    found = found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return found.replace("\r\n", "\n").replace("\r", "\n")


def _read_styles(events: Iterable[Event]) -> Iterator[tuple[str, str, str]]:
    """Yield formats with their ids and codes, and the formats' ids of the cells' styles."""
    inside = False
    for kind, name, attributes in events:
        if name == "cellXfs":
            inside = kind == "begin"
        elif kind == "begin" and name == "numFmt":
            yield name, attributes.get("numFmtId", ""), attributes.get("formatCode", "")
        elif kind == "begin" and name == "xf" and inside:
            yield name, attributes.get("numFmtId", "0"), ""


def _what_styles_show(styles: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    shows, used = dict(_BUILT_IN), list[str]()
    for kind, key, code in styles:
        if kind == "xf":
            used.append(key)
        else:
            shows[key] = find_shown(code)
    return {str(number): shows[key] for number, key in enumerate(used) if shows.get(key)}


def find_shown(code: str) -> str:
    """Return whether a format shows a number as a "day", a "time" or a "span"; "" if as a number.

    >>> [find_shown(each) for each in ("yyyy-mm-dd", '0.00 "days"', "[Red]#,##0", "Standard")]
    ['day', '', '', '']
    >>> [find_shown(each) for each in ("[h]:mm", "h:mm AM/PM", "mm:ss.0", "[$-409]mmm")]
    ['span', 'time', 'time', 'day']
    """
    code = _NO_VALUE.sub("", code.partition(";")[0]).lower()
    letters = set(re.findall("[a-z]", code))
    if not letters & set("ymdhs") or letters - set("ymdhsabegn"):  # others are a name or a unit
        return ""
    if "[" in code:
        return "span"
    return "time" if letters <= set("hms") and letters != {"m"} else "day"


def _rows(path: Path, events: Iterable[Event], book: Book) -> Iterator[tuple[int, Row]]:
    """Yield the rows that have values."""
    row, pieces, cell = Row(), Text(path), NO_ATTRIBUTES
    number, column = 0, -1
    text = reading = False
    for kind, name, attributes in events:
        if kind == "text":
            if text and not reading:
                pieces.add(name)
        elif name in ("v", "t"):  # a value, or a text in the cell itself
            text = kind == "begin"
        elif name == "rPh":
            reading = kind == "begin"
        elif name == "c" and kind == "begin":
            cell, pieces = attributes, Text(path)
            column = _column(attributes.get("r", "")) if "r" in attributes else column + 1
        elif name == "c":
            value = _value(str(pieces), cell, book)
            if value is not None and value != "":
                row[column] = value
        elif name == "row" and kind == "begin":
            number = int(attributes.get("r", number + 1))
            row, column = Row(), -1
        elif name == "row" and row:
            yield number, row


def _value(text: str, cell: Mapping[str, str], book: Book) -> Any:
    """Return the value of a cell; None for none, and for an error."""
    kind = cell.get("t", "n")
    if not text or kind == "e":
        return None
    if kind == "s":
        return book.texts[int(text)]
    if kind == "b":
        return text == "1"
    if kind != "n":
        return _unescape(text)
    number = float(text)
    shows = book.shows.get(cell.get("s", ""))
    if shows and (moment := as_moment(number, shows, since_1904=book.since_1904)) is not None:
        return moment
    return as_number(number)


def as_moment(number: float, shows: str, *, since_1904: bool) -> date | str | None:
    """Return what a number of days stands for; None if it cannot stand for that.

    Before 1904 Excel counts a 29th of February 1900, and no day is 0, so a part of it is a time.

    >>> [str(as_moment(each, "day", since_1904=False)) for each in (1, 59, 61, 45443.5, 0.25)]
    ['1900-01-01', '1900-02-28', '1900-03-01', '2024-05-31 12:00:00', '06:00']
    >>> as_moment(0.3541666667, "time", since_1904=True), as_moment(1.5, "span", since_1904=False)
    ('08:30', '36:00')
    """
    if not 0 <= number < 1 << 22:  # after the year 9999
        return None
    seconds = round(number * 86_400)
    if shows == "span" or (number < 1 and (shows == "time" or not since_1904)):
        return show_time(seconds)
    first = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30 + (number < 60))
    try:
        moment = first + timedelta(seconds=seconds)
    except OverflowError:
        return None
    return moment.date() if float(number).is_integer() else moment


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
