"""Run a bad input through the real code in this process."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranklet import commands


@dataclass(frozen=True)
class Place:
    """What the cases damage: a folder of their own, and things that are in order.

    Attributes:
        folder: empty at first.
        bundle: has a collection.
        rankers: a bundle without a collection.
        collection: a collection with the splits train and test.
        checkpoint: of BM25.
    """

    folder: Path
    bundle: Path
    rankers: Path
    collection: Path
    checkpoint: Path

    @property
    def out(self) -> Path:
        """Where commands write; nothing is there."""
        return self.folder / "out"

    def shortened(self, text: str) -> str:
        """Return a text in which the paths of this machine are names."""
        for path, name in (
            (self.bundle, "search.ranklet"),
            (self.rankers, "rankers.ranklet"),
            (self.collection, "collection"),
            (self.checkpoint, "checkpoint"),
        ):
            text = text.replace(str(path), name)
        return text.replace(f"{self.folder}/", "")


@dataclass(frozen=True)
class Case:
    """A bad input and the response that it must have.

    Attributes:
        area: the kind of input.
        name: what is wrong.
        status: the exit status.
        words: what the response must say.
        run: runs the input and returns the response.
    """

    area: str
    name: str
    status: int
    words: tuple[str, ...]
    run: Callable[[Place], "Response"]


@dataclass(frozen=True)
class Response:
    """What a user sees."""

    status: int
    text: str


def cli(area: str, name: str, status: int, words: str | tuple[str, ...], *arguments: Any) -> Case:
    """Return a case of a command; arguments that are functions are called with the place."""

    def run(place: Place) -> Response:
        made = [str(each(place) if callable(each) else each) for each in arguments]
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                ended: Any = commands.main(made)
            except SystemExit as error:  # of argparse
                ended = error.code
        return Response(ended, errors.getvalue() or out.getvalue())

    return Case(area, name, status, (words,) if isinstance(words, str) else words, run)
