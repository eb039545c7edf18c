"""Read a filter by metadata, such as ``{"year": {">=": 2020}, "tags": {"has": "x"}}``.

Instead of an object a person may type ``year>=2020``; its value is of the field's type.
A filter becomes a tree of conditions, which can be compared and hashed, before any column is
opened. `masks` evaluates it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np

from ranklet.runtime.bundles.manifest import DATE, DATETIME, FLAG, LIST, NUMBER, PLURALS, STRING
from ranklet.runtime.ground.errors import InputError, suggest
from ranklet.runtime.metadata.columns import in_utc, read_date
from ranklet.runtime.metadata.typed import read_typed, split_values

AND, OR, NOT = "and", "or", "not"
EQUAL, UNEQUAL, IN, NOT_IN = "==", "!=", "in", "not in"
HAS, HAS_ANY, HAS_ALL = "has", "has any", "has all"
STARTS_WITH, CONTAINS = "starts with", "contains"
MISSING = "missing"
_SAME = (EQUAL, UNEQUAL, IN, NOT_IN)
_ORDER = (">=", ">", "<=", "<")
OPERATORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((NUMBER, DATE, DATETIME), (*_SAME, *_ORDER, MISSING)),
    STRING: (*_SAME, *_ORDER, STARTS_WITH, CONTAINS, MISSING),
    FLAG: (*_SAME, MISSING),
    LIST: (HAS, HAS_ANY, HAS_ALL, MISSING),
}
_LISTED = (IN, NOT_IN, HAS_ANY, HAS_ALL)  # operators that take a list

# What a person types: ``=`` is ``==``, and of several values one must be equal.
_SINGLE = {"=": EQUAL, EQUAL: EQUAL, UNEQUAL: UNEQUAL}
_SEVERAL = {"=": IN, EQUAL: IN, UNEQUAL: NOT_IN}
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d\d?")
_TYPED = sorted({"=", *chain(*OPERATORS.values())}, key=len, reverse=True)
_SIGNS = "|".join(each for each in _TYPED if not each[0].isalpha())
_WORDS = "|".join(each for each in _TYPED if each[0].isalpha())
_OPERATOR = re.compile(rf"(?:\s*({_SIGNS})|\s+({_WORDS})(?!\S))(.*)", re.DOTALL)
_CONDITION = re.compile(rf"([^-{{[].*?)(?:{_SIGNS}|\s(?:{_WORDS})(?!\S)).*", re.DOTALL)

# They bound what a caller can cost. A condition is one pass over the documents.
MAX_CONDITIONS = 1000
MAX_VALUES = 10_000  # in all lists of a filter together
MAX_DEPTH = 32
_SHOWN = 20  # fields that a message names

Operand = str | int | float | bool | date


@dataclass(frozen=True)
class Test:
    """A condition on one field."""

    __test__ = False  # for pytest, which collects classes of this name

    field: str
    operator: str
    operands: tuple[Operand, ...]  # one, unless the operator takes a list


@dataclass(frozen=True)
class Not:
    """Holds for the documents for which the inner condition does not."""

    inner: "Condition"


@dataclass(frozen=True)
class Both:
    """Holds if all inner conditions do; without any, for every document."""

    inner: tuple["Condition", ...]


@dataclass(frozen=True)
class Either:
    """Holds if one of the inner conditions does; without any, for no document."""

    inner: tuple["Condition", ...]


Condition = Test | Not | Both | Either


def read_where(
    where: object, types: Mapping[str, str], remarks: Mapping[str, str] = MappingProxyType({})
) -> Condition:
    """Return the conditions of a filter.

    Args:
        where: an object whose keys are fields, or "and", "or" (a list of filters) and "not" (a
            filter). All of its entries must hold. The value of a field is a value to equal, a list
            of such values, or an object of operators. Or a condition as a person types it, or a
            list of these, which must all hold.
        types: the type of each field of the bundle.
        remarks: why fields hold strings that could be something else; see `Manifest.remarks`.

    Raises:
        InputError: a field or an operator is unknown, a value has a wrong type, or the filter is
            too large; the message names the fields or operators that there are.
    """
    return _Reader(types, remarks).filter(where, 1)


class _Reader:
    """Reads one filter and counts its conditions and values."""

    def __init__(self, types: Mapping[str, str], remarks: Mapping[str, str]) -> None:
        self._types, self._remarks = types, remarks
        self._conditions = self._values = 0

    def filter(self, where: object, depth: int) -> Condition:
        if isinstance(where, str):
            return self._typed(where)
        if isinstance(where, list | tuple) and where and all(isinstance(e, str) for e in where):
            return Both(tuple(map(self._typed, where)))
        if not isinstance(where, Mapping):
            raise InputError(
                'where must be an object such as {"year": {">=": 2020}}, or a condition such as '
                f"'year>=2020', not {_describe(where)}"
            )
        if depth > MAX_DEPTH:
            raise InputError(f"where is nested more than {MAX_DEPTH} deep")
        if not where:
            self._count()
        parts = tuple(self._entry(name, value, depth) for name, value in where.items())
        return parts[0] if len(parts) == 1 else Both(parts)

    def _entry(self, name: object, value: object, depth: int) -> Condition:
        if name == NOT:
            return Not(self.filter(value, depth + 1))
        if name in (AND, OR):
            if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                raise InputError(f"where: {name!r} takes a list of filters, not {_describe(value)}")
            if not value:
                self._count()
            inner = tuple(self.filter(each, depth + 1) for each in value)
            return Both(inner) if name == AND else Either(inner)
        if not isinstance(name, str) or name not in self._types:
            raise InputError(f"where: {unknown_field(name, self._types)}")
        if not isinstance(value, Mapping):
            return self._test(name, EQUAL if _several(value) is None else IN, value)
        parts = tuple(self._test(name, operator, each) for operator, each in value.items())
        return parts[0] if len(parts) == 1 else Both(parts)

    def _typed(self, text: str) -> Condition:
        """Return the condition that a person has typed."""
        name, operator, typed = _split(text, self._types)
        type_ = self._types[name]
        if type_ == NUMBER and operator in _SEVERAL and _DECIMAL_COMMA.fullmatch(typed):
            raise InputError(
                f"where: {typed!r:.40} may be one number or two; write "
                f"{typed.replace(',', '.')!r:.40}, or 'in' before two"
            )
        values = [read_typed(each, type_) for each in split_values(typed)]
        if type_ == LIST and operator in ("=", EQUAL):
            operator = HAS_ANY
        else:
            operator = (_SINGLE if len(values) == 1 else _SEVERAL).get(operator, operator)
        if operator == MISSING:
            return self._test(name, operator, read_typed(typed or "true", FLAG))
        if operator in _LISTED:
            return self._test(name, operator, values)
        return self._test(name, operator, values[0] if len(values) == 1 else typed)

    def _count(self) -> None:
        """Count a condition; what is empty costs as much as one."""
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise InputError(f"where has more than {MAX_CONDITIONS:,} conditions")

    def _test(self, name: str, operator: object, value: object) -> Condition:
        type_ = self._types[name]
        allowed = OPERATORS[type_]
        if operator not in allowed:
            advice = ""
            if type_ == LIST and operator in _SAME:
                advice = f'; write {{"{HAS}": …}} to find what one of its strings is'
            raise InputError(
                f"where: {name[:80]!r} holds {PLURALS[type_]} and cannot be compared by "
                f"{str(operator)[:40]!r}; its operators are {', '.join(allowed)}{advice}"
            )
        self._count()
        if operator == MISSING:
            if not isinstance(value, bool | np.bool_):
                raise InputError(
                    f"where: {name[:80]!r}: {MISSING!r} takes true or false, not {_describe(value)}"
                )
            test = Test(name, MISSING, ())
            return test if value else Not(test)
        if operator in _LISTED:
            operands = self._operands(name, str(operator), value)
        else:
            operands = (self._operand(name, value),)
        # Documents without a value differ from every value, as with `not`.
        if operator == UNEQUAL:
            return Not(Test(name, EQUAL, operands))
        if operator == NOT_IN:
            return Not(Test(name, IN, operands))
        return Test(name, str(operator), operands)

    def _operands(self, name: str, operator: str, value: object) -> tuple[Operand, ...]:
        values = _several(value)
        if values is None:
            raise InputError(
                f"where: {name[:80]!r}: {operator!r} takes a list, not {_describe(value)}"
            )
        self._values += len(values)
        if self._values > MAX_VALUES:
            raise InputError(f"where has more than {MAX_VALUES:,} values in its lists")
        return tuple(self._operand(name, each) for each in values)

    def _operand(self, name: str, value: object) -> Operand:
        return read_operand(value, name, self._types[name], self._remarks)


def is_condition(text: str) -> bool:
    """Return whether a text looks like a condition that a person types.

    >>> is_condition("year>=2020"), is_condition("name starts with W"), is_condition("pots in blue")
    (True, True, True)
    >>> is_condition("shop.ranklet"), is_condition("--sort=-year")
    (False, False)
    """
    return _CONDITION.fullmatch(text) is not None


def _split(text: str, types: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the field, the operator and the value of a condition that a person has typed.

    Names may be in other cases, and the longest one counts.
    """
    text = text.strip()
    for name in sorted(types, key=lambda each: (len(each), text.startswith(each)), reverse=True):
        same = text[: len(name)].casefold() == name.casefold()
        if same and (found := _OPERATOR.fullmatch(text[len(name) :])):
            return name, found[1] or found[2], found[3].strip()
    if found := _CONDITION.fullmatch(text):
        raise InputError(f"where: {unknown_field(found[1].strip(), types)}")
    raise InputError(
        f"where: {text[:80]!r} is no condition; give a field, an operator and a value, such as "
        f"'year>=2020' or 'kind=note,recipe'; the operators are {', '.join(reversed(_TYPED))}"
    )


def _several(value: object) -> Sequence[object] | None:
    """Return a list, a set, or an array or column of another library as a list, else None."""
    if isinstance(value, Set):
        return list(value)
    if isinstance(value, np.ndarray):
        value = _python(value)
    elif not isinstance(value, np.generic):
        convert = getattr(value, "tolist", None) or getattr(value, "to_list", None)  # of polars
        value = convert() if convert else value
    return value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else None


def _python(value: Any) -> object:
    """Return a value or an array of numpy as Python's, to which nanoseconds would be numbers."""
    if value.dtype.kind == "M" and np.datetime_data(value.dtype)[0] == "ns":
        value = value.astype("datetime64[us]")
    return value.tolist()


def read_operand(
    value: object, name: str, type_: str, remarks: Mapping[str, str], argument: str = "where"
) -> Operand:
    """Return a value that a field is compared with; dates may be given as ISO 8601 strings.

    Args:
        value: the value.
        name: the field.
        type_: its type.
        remarks: see `read_where`.
        argument: whose value it is, for the message.

    Raises:
        InputError: a field of this type cannot equal such a value.
    """
    if isinstance(value, np.generic):
        value = _python(value)
    if type_ in (STRING, LIST) and isinstance(value, str):
        return value
    if type_ == FLAG and isinstance(value, bool):
        return value
    if type_ == NUMBER and isinstance(value, int) and not isinstance(value, bool):
        return int(value)  # isfinite overflows on one of 400 digits
    if type_ == NUMBER and isinstance(value, float) and isfinite(value):
        return value
    if type_ in (DATE, DATETIME):
        day = read_date(value) if isinstance(value, str) else value
        if isinstance(day, date) and str(day) != "NaT":  # pandas' missing date is one by its type
            return _in_range(day, name, argument)
    wanted = {
        STRING: "a string",
        LIST: "a string",
        FLAG: "true or false",
        NUMBER: "a number such as 49.9",
    }.get(type_, 'a date such as "2024-05-31" or "2024-05-31T12:00:00Z"')
    why = remarks.get(name)
    raise InputError(
        f"{argument}: {name[:80]!r} holds {PLURALS[type_]}, so it cannot be compared with "
        f"{_describe(value)}{f', because {why}' if why else f'; give {wanted}'}"
    )


def _in_range(day: date, name: str, argument: str) -> date:
    try:
        return in_utc(day) if isinstance(day, datetime) else day
    except OverflowError:
        raise InputError(f"{argument}: {name[:80]!r}: {day} is out of range in UTC") from None


def list_tests(condition: Condition) -> Iterator[Test]:
    """Yield the conditions on single fields that a filter is made of."""
    if isinstance(condition, Test):
        yield condition
    elif isinstance(condition, Not):
        yield from list_tests(condition.inner)
    else:
        for each in condition.inner:
            yield from list_tests(each)


def list_fields(condition: Condition) -> Iterator[str]:
    """Yield the fields that a filter reads, some perhaps twice."""
    return (test.field for test in list_tests(condition))


def check_single(use: str, name: object, types: Mapping[str, str], fault: str, verb: str) -> str:
    """Return the name of a field that a document has one value of at most.

    Args:
        use: the parameter, for the message.
        name: the field that is asked for.
        types: the types of all fields by name.
        fault: what a document with several values would do.
        verb: what a field with one value is good for.

    Raises:
        InputError: there is no such field, or it holds lists.
    """
    if not isinstance(name, str) or name not in types:
        raise InputError(f"{use}: {unknown_field(name, types)}")
    if types[name] == LIST:
        raise InputError(
            f"{use}: {name[:80]!r} holds lists of strings, and a document with several {fault}; "
            f"{verb} by a field with one value"
        )
    return name


def unknown_field(name: object, types: Mapping[str, str]) -> str:
    """Return what is wrong with the name of a field, and which fields there are."""
    shown, fields = repr(str(name)[:80]), tuple(types)
    if not fields:
        return (
            f"unknown field {shown}; the documents of this bundle have no metadata. Build it "
            "again from documents with further fields"
        )
    listed = ", ".join(repr(each[:80]) for each in fields[:_SHOWN])
    more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
    return f"unknown field {shown}{suggest(str(name), fields)}; the fields are {listed}{more}"


def _describe(value: object) -> str:
    """Return what a value is, and also quote it if it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    kinds = {int: "a number", list: "a list", tuple: "a list"}
    if isinstance(value, Mapping):
        return "an object"
    return kinds.get(type(value), f"a value of type {type(value).__name__}")
