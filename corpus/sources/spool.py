"""Keep records that can be read only once in a temporary file."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from secrets import token_hex
from tempfile import TemporaryFile
from typing import Any

from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.collections.opening import Position
from ranklet.corpus.sources.cells import Bad, Cell, Record, Records

# Values that JSON does not have. A datetime is a date, too.
_CODED: tuple[tuple[type, Callable[[Any], str], Callable[[str], Any]], ...] = (
    (datetime, datetime.isoformat, datetime.fromisoformat),
    (date, date.isoformat, date.fromisoformat),
    (Decimal, str, Decimal),
    (bytes, bytes.hex, bytes.fromhex),
)


class Spool:
    """Records with plain fields, which are written once and read often.

    Attributes:
        are_texts: whether each record is a file; they are not, since files are read twice.
        twice: whether they can be read twice.
    """

    are_texts, twice = False, True

    def __init__(self) -> None:
        self._file = TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 (it outlives any context)
        self._count = 0
        self._sign = token_hex()  # the only key of an object that stands for another value

    def __del__(self) -> None:
        # Of a full disk, whose error has ended the writing; or it was interrupted before it began.
        with suppress(OSError, AttributeError):
            self._file.close()

    def copied(self, records: Records) -> Records:
        """Yield records, and write them."""
        for record in records:
            row = [isinstance(record, Bad), *record]
            if isinstance(record, Record):  # a table's fields are cells, or none of them
                row.append(any(type(each) is Cell for each in record.fields.values()))
            self._file.write(json.dumps(row, default=self._coded) + "\n")
            self._count += 1
            yield record

    def position(self) -> Position:
        """Return a position at the beginning."""
        return Position(self._count)

    def records(self, position: Position) -> Records:
        """Yield the records that were written."""
        self._file.seek(0)
        for line in self._file:
            bad, *row = json.loads(line, object_hook=self._decoded)
            if bad:
                yield Bad(*row)
            else:
                place, fields, headings, cells = row
                kind = Cell if cells else str
                fields = {
                    name: kind(each) if isinstance(each, str) else each
                    for name, each in fields.items()
                }
                yield Record(place, fields, tuple(Heading(*each) for each in headings))
            position.done += 1

    def _coded(self, value: Any) -> dict[str, list[Any]]:
        for number, (kind, write, _) in enumerate(_CODED):
            if isinstance(value, kind):
                return {self._sign: [number, write(value)]}
        return {self._sign: [len(_CODED), type(value).__name__]}

    def _decoded(self, value: dict[str, Any]) -> Any:
        """Return what `_coded` was given; of an unknown type only its name remains."""
        if self._sign not in value:
            return value
        number, text = value[self._sign]
        return _CODED[number][2](text) if number < len(_CODED) else type(text, (), {})()
