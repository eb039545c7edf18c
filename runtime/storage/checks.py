"""Checks that the settings of all kinds share."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import inf
from typing import Any, Self

from ranklet.runtime.errors import BundleError, InputError


def check_number(name: str, value: object, least: float, most: float | None = None) -> None:
    """Raise InputError unless `value` is a finite number from `least` to `most`."""
    # No math.isfinite: it overflows on a whole number of 400 digits, which JSON may hold.
    if type(value) not in (int, float) or not _within(value, least, most):
        raise InputError(f"{name} is {value!r}; it must be a number {range_of(least, most)}")


def check_integer(name: str, value: object, least: float, most: float | None = None) -> None:
    """Raise InputError unless `value` is a whole number from `least` to `most`."""
    if type(value) is not int or not _within(value, least, most):
        raise InputError(f"{name} is {value!r}; it must be a whole number {range_of(least, most)}")


def range_of(least: float, most: float | None) -> str:
    """Return a range in words.

    >>> range_of(0, 0.5), range_of(1, None)
    ('from 0 to 0.5', 'from 1')
    """
    return f"from {least}" if most is None else f"from {least} to {most}"


def _within(value: Any, least: float, most: float | None) -> bool:
    return bool(least <= value and (value < inf if most is None else value <= most))


def check_one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise InputError unless `value` is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; allowed are {', '.join(allowed)}")


class Settings:
    """What the settings of every kind have; a kind's are a frozen dataclass over this class.

    Attributes:
        field: of the text that it reads: lemmas, words or wordpieces; empty if it reads the text
            itself.
    """

    field: str = ""

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], where: str) -> Self:
        """Read the settings of a manifest or a checkpoint.

        Raises:
            BundleError: a setting is unknown or its value is not allowed; it names `where`.
        """
        known = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        unknown = [name for name in raw if name not in known]
        if unknown:
            raise BundleError(
                f"{where}: unknown setting {unknown[0]!r}; known are {', '.join(known)}"
            )
        try:
            return cls(**raw)
        except InputError as error:
            raise BundleError(f"{where}: {error}") from error

    @property
    def per_pair(self) -> bool:
        """Whether a network runs over each pair, so that the ranker is for few candidates."""
        return False
