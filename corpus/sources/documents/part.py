"""A page, slide, sheet, chapter or message of a file, or all of it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ranklet.corpus.collections.headings import Headings

NO_FIELDS: Mapping[str, Any] = {}


class Part(NamedTuple):
    """What a file says in one place.

    Attributes:
        title: its title; "" if it has none.
        text: all other text.
        page: its number among the parts of the file, from 1; 0 for all of the file.
        fields: metadata.
        fault: why it cannot be read; "" if it was.
        headings: those in its text.
    """

    title: str
    text: str
    page: int = 0
    fields: Mapping[str, Any] = NO_FIELDS
    fault: str = ""
    headings: Headings = ()


Parts = Iterator[Part]
