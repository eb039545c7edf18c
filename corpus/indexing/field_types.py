"""Find out the type of a field of the metadata from all of its values."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ranklet.corpus.sources.cells import Cell, Verbatim, plain, stands_for_nothing
from ranklet.runtime.bundles.manifest import DATE, DATETIME, FLAG, LIST, NUMBER, STRING
from ranklet.runtime.metadata.columns import count_days, count_microseconds, in_utc, read_date

# The types that a value can have, in the order of preference, as bits.
ORDER = (FLAG, NUMBER, DATE, DATETIME, STRING, LIST)
BITS = {type_: 1 << place for place, type_ in enumerate(ORDER)}
ALL = (1 << len(ORDER)) - 1
NOTHING = ALL - BITS[LIST]  # of a cell such as N/A, which is missing unless the field has strings

LARGEST = (1 << 63) - 1  # of whole numbers
# Without leading zeros, which ids and postal codes have, and with few digits, because a longer
# number would be rounded.
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?([eE][+-]?\d{1,2})?", re.ASCII)
_FLAGS = {"true": True, "false": False}

# A value that JSON holds, and the bits of the types that it can have.
Typed = tuple[int, Any]


class Unusable(Exception):  # noqa: N818 (it ends in no message of its own)
    """A value whose type is not supported; the argument says what it is."""


def typed(value: Any) -> Typed | None:
    """Return a value for JSON with the types that it can have; None if it is missing.

    >>> typed(Cell("2020")) == (BITS["number"] | BITS["string"], "2020")
    True
    >>> typed("2020") == (BITS["string"], "2020"), typed(Cell(" ")), typed(float("nan"))
    (True, None, None)

    Raises:
        Unusable: it has none of the types.
    """
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bytes):
        raise Unusable("bytes")
    if isinstance(value, str):
        return _of_string(value)
    if isinstance(value, bool):
        return BITS[FLAG], value
    if isinstance(value, datetime):
        try:
            return BITS[DATETIME], in_utc(value).isoformat()
        except (ValueError, OverflowError):  # pandas has years after 9999
            raise Unusable("a date out of range") from None
    if isinstance(value, date):
        return BITS[DATE] | BITS[DATETIME], value.isoformat()
    if isinstance(value, int | float | Decimal):
        return _of_number(value)
    if isinstance(value, list):
        if all(isinstance(each, str) for each in value):
            return BITS[LIST], value
        raise Unusable("a list that does not only hold strings")
    raise Unusable("an object" if isinstance(value, dict) else f"of type {type(value).__name__}")


def _of_string(value: str) -> Typed | None:
    bits = BITS[STRING]
    if isinstance(value, Verbatim):
        return bits, str(value)
    day = read_date(value)
    if day is not None:
        bits |= BITS[DATETIME] | (0 if isinstance(day, datetime) else BITS[DATE])
    if isinstance(value, Cell):
        if not (text := value.strip()):
            return None
        if stands_for_nothing(text):
            bits = NOTHING
        elif _NUMBER.fullmatch(text):
            bits |= BITS[NUMBER]
        elif text.lower() in _FLAGS:
            bits |= BITS[FLAG]
    return bits, str(value)


def _of_number(value: Any) -> Typed:
    whole = isinstance(value, int)
    number: int | float = int(value) if whole else float(value)
    if whole and abs(number) > LARGEST:
        raise Unusable("a whole number of more than 63 bits")
    if not math.isfinite(number):
        raise Unusable("a number that is not finite")
    return BITS[NUMBER], number


def choose_type(seen: Counter[int]) -> str:
    """Return the type of a field; a string if no type fits all values.

    >>> choose_type(Counter({BITS["number"] | BITS["string"]: 9, BITS["string"]: 1}))
    'string'

    Args:
        seen: how many values have these bits.
    """
    common = ALL
    for bits in seen.keys() - {NOTHING} or {BITS[STRING]}:
        common &= bits
    if NOTHING in seen:
        common &= NOTHING  # no lists beside cells
    return next((type_ for type_ in ORDER if common & BITS[type_]), STRING)


def nearest(seen: Counter[int]) -> str:
    """Return the other type that a field of strings could have but for some values; "" if none.

    Half of the values or more could have it, or some are no strings.

    >>> nearest(Counter({BITS["number"]: 2, BITS["string"]: 1}))
    'number'
    >>> nearest(Counter({BITS["number"] | BITS["string"]: 1, BITS["string"]: 9}))
    ''
    """
    if choose_type(seen) != STRING:
        return ""
    known = {bits: count for bits, count in seen.items() if bits != NOTHING}
    counts = Counter[str]()
    for bits, count in known.items():
        counts.update({type_: count for type_ in ORDER if type_ != STRING and bits & BITS[type_]})
    best, count = max(counts.items(), key=lambda each: each[1], default=("", 0))
    mixed = not all(bits & BITS[STRING] for bits in known)
    return best if mixed or 2 * count >= sum(known.values()) > 0 else ""


def as_number(value: Any) -> int | float:
    """Return a number as it was given, or the one that a cell stands for."""
    if not isinstance(value, str):
        return value  # type: ignore[no-any-return]
    text = value.strip()
    return int(text) if text.lstrip("-").isdigit() else float(text)


def as_flag(value: Any) -> bool:
    """Return a flag as it was given, or the one that a cell stands for."""
    return _FLAGS[value.strip().lower()] if isinstance(value, str) else bool(value)


def as_days(value: str) -> int:
    """Return the days from 1970 to a date."""
    return count_days(date.fromisoformat(value))


def as_microseconds(value: str) -> int:
    """Return the microseconds from 1970 to a date or an instant."""
    day = read_date(value)
    if day is None:  # unreachable, because `typed` has read it
        raise ValueError(value)
    return count_microseconds(day)


def as_string(value: Any) -> str:
    """Return a value of any type as a string; a list as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


# What a value of each type, as `typed` returns it, is in a field of that type.
READERS: Mapping[str, Callable[[Any], Any]] = {
    NUMBER: as_number, FLAG: as_flag, DATE: as_days, DATETIME: as_microseconds,
    STRING: as_string, LIST: as_string,
}  # fmt: skip
