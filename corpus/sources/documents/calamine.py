"""Read the sheets of .xls, .xlsb and .ods files by calamine, in a process of its own.

calamine makes a full rectangle of a sheet, of which two cells may span a terabyte, and ends its
process where the memory does not suffice. So it runs apart, with as much of it as it may have.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.bounds import LONGEST
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.ground.extras import install

OTHERS = (".xls", ".xlsb", ".ods")
_MEMORY, _SECONDS = 400 << 20, 120  # bytes, and seconds of a processor
Rows = Iterator[tuple[int, dict[int, Any]]]
_KINDS = {"day": date.fromisoformat, "moment": datetime.fromisoformat}


def read_by_calamine(path: Path) -> Iterator[tuple[str, bool, Rows]]:
    """Yield the name of each sheet of a file, whether it is the only one, and its rows by number.

    Raises:
        CollectionError: the file is damaged, encrypted or too large.
        InputError: python-calamine is not installed.
    """
    if find_spec("python_calamine") is None:
        raise InputError(
            f"{path} needs a package that is not installed; run: {install('documents')}"
        )
    for (page, name), rows in groupby(_receive(path), key=lambda each: (each[0], each[1])):
        if page:
            count = next(rows)[2]  # of sheets, as the first line of each says
            yield name, count == 1, _rows(path, rows)  # noqa: B031 (one after the other)
        else:  # the file could not be opened
            next(_rows(path, rows))


def _rows(path: Path, rows: Iterator[Any]) -> Rows:
    for _, _, number, cells, fault in rows:
        if fault:
            raise CollectionError(f"{path} is damaged ({fault}); fetch the file again")
        if cells:
            yield number, dict(cells)


def _receive(path: Path) -> Iterator[Any]:
    """Yield what the process writes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(  # noqa: S603 (it runs this module)
        [sys.executable, "-m", __name__, str(path.absolute())], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        encoding="ascii",
    ) as process:  # fmt: skip
        try:
            while process.stdout and (line := process.stdout.readline(LONGEST)):
                if not line.endswith("\n"):
                    break
                yield json.loads(line, object_hook=_decode)
            ended = process.wait() if not line else 1
        finally:
            process.kill()
    if ended:
        raise CollectionError(
            f"{path} takes more than {_MEMORY >> 20} MB or {_SECONDS} seconds to read; save it as "
            ".xlsx, or divide it"
        )


def _decode(value: dict[str, str]) -> Any:
    ((kind, said),) = value.items()
    return _KINDS[kind](said)


def as_number(number: float) -> int | float:
    """Return a number as a whole one, if it is one and exact."""
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else number


def show_time(seconds: int) -> str:
    """Return a time of day or a span of time.

    >>> show_time(30_600), show_time(129_601)
    ('08:30', '36:00:01')
    """
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{rest:02}" if rest else "")


def _encode(value: Any) -> Any:
    if isinstance(value, float):
        return as_number(value)
    if isinstance(value, datetime):
        return {"moment": value.isoformat()}
    if isinstance(value, date):
        return {"day": value.isoformat()}
    if isinstance(value, time):
        return show_time(value.hour * 3600 + value.minute * 60 + value.second)
    return show_time(round(value.total_seconds())) if isinstance(value, timedelta) else value


def _write(path: str) -> None:
    """Write the rows of all sheets, as lines of JSON."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    def write(page: int, name: str, number: int, row: list[Any], fault: str = "") -> None:
        cells = [(column, _encode(each)) for column, each in enumerate(row) if each != ""]
        sys.stdout.write(json.dumps((page, name, number, cells, fault)) + "\n")

    try:
        book = CalamineWorkbook.from_path(path)
        sheets = [each.name for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
    except Exception as error:
        write(0, "", 0, [], f"{type(error).__name__}: {error}")
        return
    for page, name in enumerate(sheets, 1):
        write(page, name, len(sheets), [])
        try:
            sheet = book.get_sheet_by_name(name)
            for number, row in enumerate(sheet.iter_rows(), 1):
                write(page, name, number, row)
        except Exception as error:
            write(page, name, 0, [], f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    _write(sys.argv[1])
