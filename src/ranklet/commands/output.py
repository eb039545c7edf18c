"""What commands print. All of it passes here, so that no text controls a terminal."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO

from ranklet.runtime.answers.console import Screen, bare, printable


def say(*lines: str) -> None:
    """Print lines, in which ends of lines are escaped."""
    show("\n".join(map(printable, lines)))


def show(text: str) -> bool:
    """Print a text that is laid out in lines; return whether somebody may read more."""
    print(text, flush=True)
    return not getattr(sys.stdout, "gone", False)


def show_json(text: str) -> bool:
    """Print JSON, in ASCII where the output is not UTF-8; return whether somebody may read more."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        text = re.sub(r"[^\x00-\x7f]+", _escaped, text)
    return show(text)


def complain(text: str) -> None:
    """Print a text on standard error."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def screened() -> Iterator[None]:
    """Let standard output and standard error be screens; replace streams that are not there.

    A process without a console, such as one of pythonw or of a service, has None in their place.
    """
    _fill_descriptors()
    before = sys.stdin, sys.stdout, sys.stderr
    with open(os.devnull, "r+", encoding="utf-8") as nowhere:  # noqa: PTH123 (a name, no path)
        sys.stdin = bare(sys.stdin) or nowhere
        sys.stdout = _screen(bare(sys.stdout) or nowhere, needed=True)
        sys.stderr = _screen(bare(sys.stderr) or nowhere, needed=False)
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = before


def _screen(stream: TextIO, *, needed: bool) -> Any:
    if isinstance(stream, TextIOWrapper):  # so that no character can make printing fail
        stream.reconfigure(errors="backslashreplace")
    return Screen(stream, needed=needed)


def _fill_descriptors() -> None:
    """Open standard streams that are closed; else a file would get what libraries log."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


def _escaped(found: re.Match[str]) -> str:
    import json

    return json.dumps(found[0])[1:-1]
