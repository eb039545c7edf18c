"""Read the values of columns whose types somebody has declared, such as ``price=number``."""

import ast
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from ranklet.corpus.sources.cells import Verbatim, in_words, plain, stands_for_nothing
from ranklet.runtime.answers.console import printable
from ranklet.runtime.bundles.manifest import (
    COMMA,
    DATE,
    DATETIME,
    DECLARED_TYPES,
    DMY,
    FLAG,
    LIST,
    MDY,
    NUMBER,
    PLURALS,
    STRING,
    field_type,
)
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.metadata.columns import read_date
from ranklet.runtime.metadata.typed import FLAGS

EXAMPLES = 3  # places that a message names
_LARGEST = (1 << 63) - 1  # of whole numbers
_DECLARED = re.compile(r"(.+?)=([A-Za-z]+)\s*(?:,|$)")
_ORDERS: Mapping[str, tuple[int, int]] = {DMY: (0, 1), MDY: (1, 0)}  # places of day and month

# Signs before or behind a number, which say what it counts.
_UNIT = re.compile(
    r"[$€£¥₹₩₽₺₴₪฿]|%|(?<![^\W\d_])(?:US\$|EUR|USD|GBP|CHF|JPY|PLN|SEK|NOK|DKK|CZK|HUF|CNY"
    r"|RUB|Euros?|zł|kr\.?|Kč|Ft|Fr\.?|SFr\.?|руб\.?|円|元)(?![^\W\d_])", re.IGNORECASE,
)  # fmt: skip
# Words before a number, and in the place of one, in the languages that `columns` knows.
_FROM = re.compile(
    r"(?:ab|von|from|à partir de|dès|desde|de|da|a partire da|a partir de|vanaf|od|от)"
    r"\s+(?=\D{0,4}\d)",
    re.IGNORECASE,
)
_ON_REQUEST = re.compile(
    r"(?:preis |prix |precio |prezzo |preço |prijs |cena |price )?(?:auf anfrage"
    r"|sur (?:demande|devis)|bajo (?:pedido|petición)|a consultar|su richiesta"
    r"|sob consulta|op aanvraag|na zapytanie"
    r"|(?:up)?on request|по запросу|要問い?合わ?せ|面议|面議)", re.IGNORECASE,
)  # fmt: skip


def _number_pattern(groups: str, point: str) -> re.Pattern[str]:
    grouped = rf"\d{{1,3}}(?:([{groups}'’ \u00a0\u2009\u202f])\d{{3}})(?:\1\d{{3}})*"  # thousands
    exponent = r"(?:[eE][-+]?\d{1,3})?"
    return re.compile(rf"[-+]?(?:\d+|{grouped})?(?:[{point}]\d*)?{exponent}", re.ASCII)


_NUMBERS = {".": _number_pattern(",", "."), ",": _number_pattern(".", ",")}
_NO_CENTS = re.compile(r"[.,](?:-{1,2}|–|—)$")  # as in 19,–
_YEAR_FIRST = re.compile(r"(\d{4})([/.]?)(\d\d?)\2(\d\d?)", re.ASCII)
_YEAR_LAST = re.compile(r"(\d\d?)([/.-])(\d\d?)\2(\d{4})", re.ASCII)
_UNSEPARATED = re.compile(r"['\"]\s+['\"]")


def read_types(typed: str) -> dict[str, str]:
    """Return the types of columns that were typed on a command line.

    >>> read_types("price=number, tags=list"), read_types("price, net=number")
    ({'price': 'number', 'tags': 'list'}, {'price, net': 'number'})

    Raises:
        InputError: it has another form, or a type is unknown.
    """
    found = list(_DECLARED.finditer(typed))
    if not found or "".join(each[0] for each in found) != typed:
        raise InputError(
            f"--types is {typed!r:.80}; give NAME=TYPE, such as price=number,tags=list"
        )
    return check_types({each[1].strip(): each[2] for each in found})


def check_types(types: object) -> dict[str, str]:
    """Return the types of columns by name.

    Raises:
        InputError: it is no mapping, or a type is unknown.
    """
    if not isinstance(types, Mapping) or not all(isinstance(each, str) for each in types):
        raise InputError(
            f'types is {types!r:.60}; it must be a dictionary such as {{"price": "number"}}'
        )
    for name, type_ in types.items():
        if type_ not in DECLARED_TYPES:
            raise InputError(
                f"the type of {name!r:.60} is {type_!r:.60}; it must be one of "
                f"{', '.join(DECLARED_TYPES)}"
            )
    return dict(types)


class DeclaredColumns:
    """Reads the values of columns with declared types, and counts those that are none.

    Args:
        types: the types by the columns' names.
    """

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types
        self._given = dict.fromkeys(types, 0)  # how many values each column has
        self._bad: dict[str, tuple[int, list[str]]] = {}  # how many are not of it, and the first

    def read(self, fields: dict[str, Any], place: str) -> None:
        """Replace the values of a record by those of the declared types; leave out what is none."""
        for name in self.types.keys() & fields.keys():
            value = fields.pop(name)
            try:
                read = parse_value(value, self.types[name])
            except ValueError:
                count, first = self._bad.get(name, (0, []))
                if count < EXAMPLES:
                    first.append(f"{place} ({plain(value)!r:.40})")
                self._bad[name] = count + 1, first
            else:
                if read is None:
                    continue
                fields[name] = read
            self._given[name] += 1

    def list_lost(self) -> list[str]:
        """Return the columns that have no value of their type."""
        return [name for name in self.types if self._given[name] == self._bad.get(name, (0,))[0]]

    def remarks(self) -> list[str]:
        """Return for each column how many of its values were left out, and the first places."""
        return [
            printable(
                f"{name!r}: {count:,} of {self._given[name]:,} values "
                f"{are_no(count, self.types[name])} (taken as missing): {', '.join(first)}"
                f"{', …' if count > EXAMPLES else ''}{_advice(self.types[name], first)}"
            )
            for name, (count, first) in sorted(self._bad.items())
        ]


def are_no(count: int, type_: str) -> str:
    """Return what some values are not.

    >>> are_no(1, "number"), are_no(2, "dmy")
    ('is no number', 'are no dates')
    """
    plural = PLURALS[field_type(type_)]
    singular = {LIST: "list of strings", DATETIME: "date with a time"}.get(type_, plural[:-1])
    return f"is no {singular}" if count == 1 else f"are no {plural}"


def _advice(type_: str, places: list[str]) -> str:
    if type_ == NUMBER and any(re.search(r"\d,\d", each) for each in places):
        return f"; for decimal commas declare {COMMA}"
    if type_ in (DATE, DATETIME) and any(_YEAR_LAST.search(each) for each in places):
        return f"; for dates such as 31/12/2024 declare {DMY}, for 12/31/2024 {MDY}"
    return ""


def parse_value(value: Any, type_: str) -> Any:
    """Return the value of a declared type that something stands for; None if it is missing.

    >>> [parse_value(each, "number") for each in ("€ 1,234.50", "5 %", "N/A")]
    [1234.5, 5, None]
    >>> parse_value("31.12.2024", "dmy"), parse_value("a; b", "list"), parse_value("2024", "string")
    (datetime.date(2024, 12, 31), ['a', 'b'], '2024')

    Raises:
        ValueError: it stands for none.
    """
    value = plain(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if type_ == STRING:
        return _string(value)
    if isinstance(value, str):
        value = value.strip()
        if stands_for_nothing(value):
            return None
    try:
        return _READERS[type_](value)
    except (OverflowError, TypeError) as error:
        raise ValueError(value) from error


def _string(value: Any) -> str:
    if isinstance(value, list | dict | bytes):
        raise ValueError(value)
    if isinstance(value, bool):
        return Verbatim("true" if value else "false")
    return Verbatim(in_words(value))


def _number(value: Any, point: str = ".") -> int | float | None:
    if isinstance(value, str):
        if _ON_REQUEST.fullmatch(value):
            return None
        digits = _UNIT.sub("", _FROM.sub("", value.replace("−", "-"), count=1), count=1).strip()
        digits = _NO_CENTS.sub("", digits)
        if not (found := _NUMBERS[point].fullmatch(digits)) or not any(map(str.isdigit, digits)):
            raise ValueError(value)
        digits = (digits.replace(found[1], "") if found[1] else digits).replace(point, ".")
        whole = digits.lstrip("+-").isdigit()
        value = int(digits) if whole else float(digits)
    elif isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(value)
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(value)
    return value


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    name = value.lower() if isinstance(value, str) else str(value)
    if name not in FLAGS:
        raise ValueError(value)
    return FLAGS[name]


def _moment(value: Any, order: tuple[int, int] | None = None) -> date:
    """Return the day or the instant of a value; `order` has the places of day and month."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        raise ValueError(value)
    if (found := read_date(value)) is not None:
        return found
    if first := _YEAR_FIRST.fullmatch(value):
        if not first[2] and len(value) != len("20241231"):
            raise ValueError(value)
        return date(int(first[1]), int(first[3]), int(first[4]))
    if order and (last := _YEAR_LAST.fullmatch(value)):
        pair = int(last[1]), int(last[3])
        return date(int(last[4]), pair[order[1]], pair[order[0]])
    raise ValueError(value)


def _day(value: Any, order: tuple[int, int] | None = None) -> date:
    found = _moment(value, order)
    return found.date() if isinstance(found, datetime) else found


def _instant(value: Any) -> datetime:
    found = _moment(value)
    return found if isinstance(found, datetime) else datetime.combine(found, time(), UTC)


def _list(value: Any) -> list[str] | None:
    if isinstance(value, str):
        value = _read_list(value)
    values = value if isinstance(value, list) else [value]
    return [str(_string(each)) for each in values if each is not None] or None


def _read_list(text: str) -> list[Any]:
    """Return the values of a list as JSON or Python writes it, or with separators."""
    if text.startswith("[") and text.endswith("]"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            if _UNSEPARATED.search(text):  # an array of numpy, whose strings Python would join
                raise ValueError(text) from None
            try:
                found = ast.literal_eval(text)
            except (SyntaxError, MemoryError, RecursionError) as error:
                raise ValueError(text) from error
        return list(found)
    parts = map(str.strip, text.split(";" if ";" in text else ","))
    return [each for each in parts if each]


_READERS: Mapping[str, Callable[[Any], Any]] = {
    NUMBER: _number,
    COMMA: lambda value: _number(value, ","),
    FLAG: _flag,
    DATE: _day,
    DMY: lambda value: _day(value, _ORDERS[DMY]),
    MDY: lambda value: _day(value, _ORDERS[MDY]),
    DATETIME: _instant,
    LIST: _list,
}
