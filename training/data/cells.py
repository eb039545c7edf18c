"""Values of metadata as sources hold them."""

from typing import Any


class Cell(str):
    """The content of a table's cell, which may stand for a number, a flag or a date.

    A string of JSON or Parquet is no cell: ``"2020"`` there is a string, because a number would be
    written without quotes.
    """

    __slots__ = ()


def texts_in(value: Any) -> list[str]:
    """Return the strings in a field's value, which must be encodable.

    >>> texts_in(["a", 1]), texts_in("b"), texts_in({"c": 1})
    (['a'], ['b'], [])
    """
    inside = value if isinstance(value, list | tuple) else [value]
    return [each for each in inside if isinstance(each, str)]
