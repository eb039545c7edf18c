"""Values as sources hold them, and the plain ones that they stand for.

The readers of all formats yield records, and what they could not read.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np

from ranklet.corpus.collections.headings import Headings

_EXACT = 1 << 53  # from here on not every whole number has a float of its own
# What a value of pyarrow, an array of pyarrow, and one of numpy, pandas or polars are converted by.
_CONVERTERS = ("as_py", "to_pylist", "tolist", "to_list")

Fault = Literal["broken", "encoding", "no id", "empty", "duplicate", "vector"]


class Cell(str):
    """The content of a table's cell, which may stand for a number, a flag or a date.

    A string of JSON or Parquet is no cell: ``"2020"`` there is a string, because a number would be
    written without quotes.
    """

    __slots__ = ()


class Verbatim(str):
    """A string that is one although it may look like a date, because somebody has said so."""

    __slots__ = ()


class Fields(dict[str, Any]):
    """The fields of a document besides id, title and text, with the place where they were read."""

    __slots__ = ("place",)
    place: str


# What stands for no value in a table; all but the dash as pandas reads them.
_NOTHING = frozenset((
    "-", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
))  # fmt: skip


def stands_for_nothing(text: str) -> bool:
    """Return whether a text is a sign for a missing value where no texts are expected.

    >>> stands_for_nothing("N/A"), stands_for_nothing("none of them")
    (True, False)
    """
    return text in _NOTHING


def plain(value: Any) -> Any:
    r"""Return a value as a plain one of Python; None if it is missing.

    Strings, flags, whole numbers, numbers, decimals, dates, lists and objects of strings remain.
    Missing are None, NaN and the signs that numpy, pandas and pyarrow have for it. What is none of
    these is returned as it is, so that a message can name its type.

    >>> plain(np.array(["a", None])), plain(UUID(int=7)), plain(b"a"), plain(np.datetime64("NaT"))
    (['a', None], '00000000-0000-0000-0000-000000000007', 'a', None)
    """
    kind = type(value)
    if value is None or kind in (str, Cell, Verbatim, bool, int):
        return value
    if kind is float:
        return value if value == value else None
    if kind is dict:
        return {
            str(name): each if type(each) is str else plain(each) for name, each in value.items()
        }
    for kinds, convert in _CONVERSIONS:
        if isinstance(value, kinds):
            return convert(value)
    return _of_library(value)


def _of_numpy_time(value: Any) -> Any:
    # Python has no smaller unit than microseconds; numpy returns such values as numbers.
    fine = np.datetime_data(value.dtype)[0] in ("ns", "ps", "fs", "as")
    return (value.astype(f"{value.dtype.kind}8[us]") if fine else value).item()


def _of_bytes(value: Any) -> str | bytes:
    with suppress(UnicodeDecodeError):  # else it is a picture, or a text in another encoding
        return bytes(value).decode()
    return bytes(value)


def _of_library(value: Any) -> Any:
    """Return a value of pyarrow, numpy, pandas or polars, none of which is imported for it."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    convert = next(filter(callable, (getattr(value, name, None) for name in _CONVERTERS)), None)
    try:
        return plain(convert()) if convert else value
    except UnicodeDecodeError as error:
        return error.object
    except (ValueError, OverflowError):  # a date of a year that Python does not have
        return value


_CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (  # the first that fits
    (Enum, lambda value: plain(value.value)),
    ((np.datetime64, np.timedelta64), _of_numpy_time),
    (str, str),
    ((bytes, bytearray, memoryview), _of_bytes),
    (Mapping, lambda value: {str(name): plain(each) for name, each in value.items()}),
    ((list, tuple), lambda value: [*map(plain, value)]),
    (np.ndarray, lambda value: plain(value.tolist())),
    (Decimal, lambda value: None if value.is_nan() else value),
    (Integral, int),
    (Real, lambda value: None if value != value else float(value)),
    (time, time.isoformat),
    (UUID, str),
    (os.PathLike, lambda value: plain(os.fspath(value))),
)


def as_id(value: object) -> str | None:
    r"""Return a plain value as an id, or None if it cannot be one.

    A flag is none, nor is a fraction, nor a float that is too large to be exact. Bytes, such as
    those of a UUID, are written in hexadecimal digits.

    >>> as_id("a/1"), as_id(7.0), as_id(b"\xff\1"), as_id(""), as_id(True), as_id(1e17)
    ('a/1', '7', 'ff01', None, None, None)
    """
    if isinstance(value, str | bytes):
        return (value.hex() if isinstance(value, bytes) else value) or None
    if isinstance(value, bool):
        return None
    if isinstance(value, float):  # a column of whole numbers with gaps may be stored as such
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else None
    if isinstance(value, Decimal):
        return str(int(value)) if value.is_finite() and value == value.to_integral_value() else None
    return in_words(value) if isinstance(value, int | date) else None


def as_text(value: object) -> str | None:
    r"""Return a plain value as a text, or None if it cannot be one.

    >>> as_text(None), as_text(1998), as_text(["One.", None, "Two."]), as_text({}), as_text([["a"]])
    ('', '1998', 'One.\nTwo.', None, None)
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, int | float | Decimal | date):
        return in_words(value)
    if isinstance(value, list) and all(each is None or isinstance(each, str) for each in value):
        return "\n".join(each for each in value if each is not None)
    return None


def in_words(value: str | int | float | Decimal | date) -> str:
    """Return a value as people write it.

    >>> in_words(Decimal("1E+2")), in_words(date(2024, 12, 31))
    ('100', '2024-12-31')
    """
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}"  # never as 1E+2
    return value if isinstance(value, str) else str(value)


def is_missing(value: object) -> bool:
    """Return whether a plain value is missing or has nothing in it."""
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or value == [] or value == {}


def texts_in(value: Any) -> list[str]:
    """Return the strings in a field's value, which must be encodable.

    >>> texts_in(["a", 1]), texts_in("b"), texts_in({"c": 1})
    (['a'], ['b'], [])
    """
    inside = value if isinstance(value, list | tuple) else [value]
    return [each for each in inside if isinstance(each, str)]


class Record(NamedTuple):
    """One row, object or file, before anybody knows which field holds what."""

    place: str  # such as "articles.csv:7"
    fields: Mapping[str, Any]
    headings: Headings = ()  # of its text


class Bad(NamedTuple):
    """Something that is no usable record."""

    place: str
    fault: Fault
    found: str  # what was there, for a message


Records = Iterator[Record | Bad]


def is_decoded(text: str) -> bool:
    r"""Return whether UTF-8 can encode a text.

    Bytes that cannot be decoded become lone surrogates (see `opening`), and a JSON escape may be
    one, so this finds both.

    >>> is_decoded("café"), is_decoded("caf\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def not_decoded(place: str, text: str, field: str = "") -> Bad:
    """Return the report for a text that is not decoded."""
    at = next(i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff")
    code = ord(text[at])
    byte = f"byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "half a character"
    before = f"after {text[max(0, at - 20) : at]!r}" if at else "at its beginning"
    return Bad(place, "encoding", f"{f'{field}: ' if field else ''}{byte} {before}")
