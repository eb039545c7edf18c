"""Metadata and answers as JSON values."""

from collections.abc import Mapping, Sequence
from datetime import date
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
    values = plain({name: getattr(thing, name) for name in thing.ALWAYS if name not in without})
    for name in thing.PERHAPS:
        value = None if name in without else getattr(thing, name)
        if value is None or value is False:
            continue
        if type(value) in _SCALARS:
            values[name] = value
        elif value:
            values[name] = plain_value(value)
    return values


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
