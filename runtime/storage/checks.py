"""Checks that the settings of all kinds share."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.text.analysis import FIELDS

S = TypeVar("S")


def check_field(field: object) -> None:
    """Raise InputError unless `field` is one that text can be analysed in."""
    if field not in FIELDS:
        raise InputError(f"field is {field!r}; allowed are {', '.join(FIELDS)}")


def check_number(name: str, value: object, least: float, most: float) -> None:
    """Raise InputError unless `value` is a number from `least` to `most`."""
    # No math.isfinite: it overflows on a whole number of 400 digits, which JSON may hold.
    if type(value) not in (int, float) or not least <= value <= most:  # type: ignore[operator]
        raise InputError(f"{name} is {value!r}; it must be a number from {least} to {most}")


def check_integer(name: str, value: object, least: int, most: int) -> None:
    """Raise InputError unless `value` is a whole number from `least` to `most`."""
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{name} is {value!r}; it must be a whole number from {least} to {most}")


def check_one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise InputError unless `value` is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; allowed are {', '.join(allowed)}")


def settings_from(kind: type[S], raw: Mapping[str, Any], where: str) -> S:
    """Make a frozen settings dataclass of a JSON object.

    Raises:
        BundleError: an option is unknown or its value is not allowed; `where` is named.
    """
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    unknown = [name for name in raw if name not in known]
    if unknown:
        raise BundleError(f"{where}: unknown setting {unknown[0]!r}; known are {', '.join(known)}")
    try:
        return kind(**raw)
    except InputError as error:
        raise BundleError(f"{where}: {error}") from error
