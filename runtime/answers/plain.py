"""Metadata and answers as JSON values."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from ranklet.runtime.bundles.manifest import Value


class Shown(Protocol):
    """What has a form in JSON, which OpenAPI describes by the same names.

    Attributes:
        ALWAYS: the attributes that are always there.
        PERHAPS: those that are left out if they have no value.
    """

    ALWAYS: ClassVar[tuple[str, ...]]
    PERHAPS: ClassVar[tuple[str, ...]]


_SCALARS = frozenset((str, int, float, bool, type(None)))


def to_values(thing: Shown, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON values of what has such a form, perhaps without some."""
    always, perhaps = _names(type(thing), tuple(without))
    values = plain({name: getattr(thing, name) for name in always})
    for name in perhaps:
        value = getattr(thing, name)
        if value is None or value is False:
            continue
        if type(value) in _SCALARS:
            values[name] = value
        elif value:
            values[name] = plain_value(value)
    return values


@cache
def _names(kind: type[Shown], without: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the attributes of `Shown`, without some."""
    always, perhaps = (
        [x for x in names if x not in without] for names in (kind.ALWAYS, kind.PERHAPS)
    )
    return always, perhaps


def plain_value(value: object) -> Any:
    """Return a JSON value: of a date an ISO 8601 string, and of an answer its own form."""
    if type(value) in _SCALARS:
        return value
    if type(value) is dict or isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, date):
        return value.isoformat()
    if to_dict := getattr(value, "to_dict", None):
        return to_dict()
    return [*map(plain_value, value)] if isinstance(value, list | tuple) else value


def plain(metadata: "Mapping[str, Value]") -> dict[str, Any]:
    """Return metadata as JSON values, where dates are ISO 8601 strings.

    >>> plain({"day": date(2024, 5, 31), "year": 2024})
    {'day': '2024-05-31', 'year': 2024}
    """
    return {
        name: value if type(value) in _SCALARS else plain_value(value)
        for name, value in metadata.items()
    }
