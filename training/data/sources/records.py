"""What the readers of all formats yield: records, and what they could not read."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Fault = Literal["broken", "encoding", "no id", "empty", "duplicate"]


class Record(NamedTuple):
    """One row, object or file, before anybody knows which field holds what."""

    place: str  # such as "articles.csv:7"
    fields: Mapping[str, Any]


class Bad(NamedTuple):
    """Something that is no usable record."""

    place: str
    fault: Fault
    found: str  # what was there, for a message


Records = Iterator[Record | Bad]


def is_decoded(text: str) -> bool:
    r"""Return whether UTF-8 can encode a text.

    Bytes that cannot be decoded become lone surrogates (see `opening`), and a JSON escape may be
    one, so this finds both.

    >>> is_decoded("café"), is_decoded("caf\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def not_decoded(place: str, text: str, field: str = "") -> Bad:
    """Return the report for a text that is not decoded."""
    at = next(i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff")
    code = ord(text[at])
    byte = f"byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "half a character"
    before = f"after {text[max(0, at - 20) : at]!r}" if at else "at its beginning"
    return Bad(place, "encoding", f"{f'{field}: ' if field else ''}{byte} {before}")
