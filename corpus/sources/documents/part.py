"""A page, slide, sheet, chapter or message of a file, or all of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.collections.bounds import DenseFileError
from ranklet.corpus.collections.headings import Headings
from ranklet.runtime.ground.errors import RankletError

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


def describe_fault(path: Path, error: Exception) -> str:
    """Return in one line what is wrong with a part of a file, whose readers may raise any error.

    Raises:
        DenseFileError: that is the error, which ends the file.
        MemoryError: the same.
    """
    if isinstance(error, DenseFileError | MemoryError):
        raise error
    if isinstance(error, RankletError):
        return str(error).removeprefix(f"{path} ")
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror or error})"
    if isinstance(error, RecursionError):
        return "is nested too deeply; divide it"
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"is damaged ({said:.200}); fetch the file again"
