"""The types that a field of the metadata can have, in the words of the manifest."""

from collections.abc import Mapping
from datetime import date

# What Python has for a value; a date may be a datetime, in UTC.
Value = str | int | float | bool | date | list[str]

STRING = "string"
NUMBER = "number"
FLAG = "flag"  # true or false
DATE = "date"  # a day
DATETIME = "datetime"  # an instant, in UTC
STRINGS = "strings"  # a list of strings
TYPES = (STRING, NUMBER, FLAG, DATE, DATETIME, STRINGS)
PLURALS = {
    STRING: "strings",
    NUMBER: "numbers",
    FLAG: "flags",
    DATE: "dates",
    DATETIME: "dates with times",
    STRINGS: "lists of strings",
}

# More fields than that are no columns but data, such as an object whose keys are ids.
MAX_FIELDS = 256


def in_words(types: Mapping[str, str]) -> str:
    """Return fields with their types, for people.

    >>> in_words({"tags": "strings", "year": "number"})
    'tags (strings), year (number)'
    """
    return ", ".join(f"{name} ({type_})" for name, type_ in types.items())
