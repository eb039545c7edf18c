"""Run a bad input through the real code in this process, and find where it was refused."""

import contextlib
import io
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from ranklet import commands
from ranklet.commands.output import complain
from ranklet.handlers.api.errors import failure

ROOT = Path(__file__).resolve().parent.parent.parent.parent
LAYERS = ("runtime", "corpus", "training", "export", "handlers", "src")


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


Make = Callable[[Place], Any]


@dataclass(frozen=True)
class Case:
    """A bad input and the response that it must have.

    Attributes:
        area: the kind of input.
        name: what is wrong.
        status: the exit status, the HTTP status, or the name of the exception.
        words: what the response must say.
        run: runs the input and returns the response, and the error if one was raised.
    """

    area: str
    name: str
    status: int | str
    words: tuple[str, ...]
    run: Callable[[Place, pytest.MonkeyPatch], "Response"]


@dataclass(frozen=True)
class Response:
    """What a user sees, and where the code refused the input: file:line, or empty."""

    status: int | str
    text: str
    where: str = ""


def cli(area: str, name: str, status: int, words: str | tuple[str, ...], *arguments: Any) -> Case:
    """Return a case of a command; arguments that are functions are called with the place."""

    def run(place: Place, patch: pytest.MonkeyPatch) -> Response:
        made = [str(each(place) if callable(each) else each) for each in arguments]
        places: list[str] = []

        def complained(text: str) -> None:
            if error := sys.exc_info()[1]:
                places.append(raised_at(error))
            complain(text)

        patch.setattr(commands, "complain", complained)
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                ended: Any = commands.main(made)
            except SystemExit as error:  # of argparse
                ended = error.code
                places.append(raised_at(error))
        said = errors.getvalue() or out.getvalue()
        return Response(ended, said, places[0] if places else "")

    return Case(area, name, status, (words,) if isinstance(words, str) else words, run)


def python(area: str, name: str, kind: type[Exception], words: str, act: Make) -> Case:
    """Return a case of the Python API, which must raise an exception of a class."""

    def run(place: Place, patch: pytest.MonkeyPatch) -> Response:
        try:
            found = act(place)
        except Exception as error:
            return Response(type(error).__name__, str(error), raised_at(error))
        return Response("no error", repr(found)[:300])

    return Case(area, name, kind.__name__, (words,), run)


def request(area: str, name: str, status: int, words: str, ask: Make) -> Case:
    """Return a case of a request; `ask` raises what the handlers turn into a status."""

    def run(place: Place, patch: pytest.MonkeyPatch) -> Response:
        try:
            found = ask(place)
        except Exception as error:
            refused, body = failure(error)
            return Response(refused, body["error"], raised_at(error))
        if isinstance(found, Response):
            return found
        return Response(200, repr(found)[:300])

    return Case(area, name, status, (words,), run)


def raised_at(error: BaseException) -> str:
    """Return file:line of the product's code that raised an error, without its line for argparse.

    argparse raises SystemExit while it handles the error of an argument, whose place counts.
    """
    frames = own_frames(error.__traceback__)
    cause = error.__context__ if isinstance(error, SystemExit) else None
    while cause is not None:
        frames = own_frames(cause.__traceback__) or frames
        cause = cause.__context__
    return frames[-1] if frames else ""


def own_frames(trace: TracebackType | None) -> list[str]:
    """Return file:line of every frame of the product's code, outermost first."""
    found = []
    for frame in traceback.extract_tb(trace):
        path = Path(frame.filename).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in LAYERS:
            found.append(f"{path.relative_to(ROOT).as_posix()}:{frame.lineno}")
    return found
