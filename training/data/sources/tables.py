"""Read CSV and TSV files."""

import csv
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from ranklet.runtime.errors import CollectionError
from ranklet.training.data.sources.opening import format_suffix, open_text
from ranklet.training.data.sources.records import Bad, Record, Records, is_decoded, not_decoded

DELIMITERS = (",", ";", "\t", "|")
MAX_FIELD = 1 << 27  # characters; an unclosed quote would otherwise read a whole file as one field


def read_table(path: Path, encoding: str, *, header: bool) -> Records:
    """Yield the rows of a table, whose columns are named by its first line.

    The delimiter of a .csv file is the one that is most frequent in its first line.

    Args:
        path: the file.
        encoding: its encoding.
        header: whether the first line names the columns; else they are "1", "2", and so on.

    Raises:
        CollectionError: the file is empty or no table, or two columns have one name.
    """
    csv.field_size_limit(MAX_FIELD)
    with open_text(path, encoding) as file:
        first = file.readline()
        _check_first(first, path)
        delimiter = _delimiter(first, path)
        rows = csv.reader(chain([first], file), delimiter=delimiter, strict=True)
        if header:
            names = next(rows)
            _check_names(names, path)
        else:
            width = len(next(csv.reader([first], delimiter=delimiter)))
            names = [str(number) for number in range(1, width + 1)]
        while True:
            place = f"{path}:{rows.line_num + 1}"
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Bad(place, "broken", str(error))
                continue
            if row:
                yield _record(place, names, row)


def _record(place: str, names: Sequence[str], row: Sequence[str]) -> Record | Bad:
    if len(row) != len(names):
        return Bad(place, "broken", f"{len(row)} fields in a table of {len(names)} columns")
    for value in row:
        if not is_decoded(value):
            return not_decoded(place, value)
    return Record(place, dict(zip(names, row, strict=True)))


def _check_first(first: str, path: Path) -> None:
    if not first.strip():
        raise CollectionError(f"{path}: the first line is empty; it must name the columns")
    if first.lstrip().startswith(("{", "[")):
        right = "jsonl" if first.lstrip().startswith("{") else "json"
        raise CollectionError(
            f"{path}:1 looks like JSON, although the name ends in {format_suffix(path)}; pass "
            f"--format {right}"
        )
    if "\0" in first:
        raise CollectionError(
            f"{path}:1 contains zero bytes, so it is no text in this encoding; pass --encoding "
            "utf-16 or the right --format"
        )


def _delimiter(first: str, path: Path) -> str:
    if format_suffix(path) in (".tsv", ".tab"):
        return "\t"
    return max(DELIMITERS, key=first.count)


def _check_names(names: Sequence[str], path: Path) -> None:
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise CollectionError(
            f"{path}:1: the column {doubled!r} occurs twice; rename one, or pass --no-header if "
            "the first line is data"
        )
