"""Take the lists of callers, whatever they are made of."""

from collections.abc import Iterable, Mapping
from typing import Any

from ranklet.runtime.ground.errors import InputError


def as_list(values: Iterable[Any], name: str, hint: str) -> list[Any]:
    """Return the values of any iterable except a string, an object or a table as a list.

    Raises:
        InputError: `values` is not such an iterable; the message contains `name` and `hint`.
    """
    columns = getattr(values, "columns", None)
    if columns is not None and not callable(columns):  # a table, whose columns' names it would give
        hint = "give one of its columns, or its rows, such as table.to_dict('records') of pandas"
    elif not isinstance(values, str | bytes | Mapping) and isinstance(values, Iterable):
        to_python = getattr(values, "to_pylist", None)  # Arrow iterates over its own types
        return list(to_python() if callable(to_python) else values)
    raise InputError(f"{name} must be a list, not {type(values).__name__}; {hint}")
