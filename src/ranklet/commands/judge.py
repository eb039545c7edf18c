"""Judge the hits of queries on a page, and save what is relevant for learn, train and eval.

The page is for this machine only. Every mark is saved at once, and a judge who comes back goes on
where the last one stopped. QUERIES has one query per line, or is JSON Lines with a text. With - it
is read from the standard input.
"""

import argparse
import os
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import say, show
from ranklet.commands.rank import make_lines
from ranklet.runtime.answers.console import suggest_command
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import LAST_PORT, Checked, integer, switch, text

if TYPE_CHECKING:
    from ranklet.corpus.judgements.marks import Marks

HOST, PORT = "127.0.0.1", 8090


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(Checked):
    """Which hits are judged, as what, and where the page is."""

    GROUP = "options"

    split: str = text("train", "name of the judged queries in it")
    pipeline: str | None = text(None, "pipeline whose hits are judged; by default the bundle's")
    port: int = integer(PORT, "port of the page, or 0 to let the system choose", 0, LAST_PORT)
    browser: bool = switch(True, "only print the page's address", flag="--no-browser")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle, a folder, .zip or address")
    parser.add_argument("queries", metavar="QUERIES", help="file with the queries, or -")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", required=True,
        help="collection to write, or to go on with",
    )  # fmt: skip
    add_options(lambda _: parser, JudgeOptions())


def run(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C, and print what can be done with the judgements."""
    from ranklet.corpus.judgements.marks import Marks
    from ranklet.corpus.sources.bundle_documents import whole_documents
    from ranklet.handlers.judge.service import JudgeService
    from ranklet.handlers.judge.service import run as serve
    from ranklet.handlers.server.settings import ServerSettings
    from ranklet.handlers.server.uvicorn_server import listen
    from ranklet.runtime import load
    from ranklet.runtime.bundles.additions import refuse_additions

    own = options_from(JudgeOptions(), vars(options))
    texts = read_queries(options.queries)
    bundle = load(options.bundle)
    documents = bundle.files.need_documents()
    refuse_additions(bundle.files)
    pipelines = bundle.manifest.pipelines
    if own.pipeline is not None and own.pipeline not in pipelines:
        raise InputError(
            f"the bundle has no pipeline {own.pipeline!r}; it has {', '.join(pipelines)}"
        )
    if not pipelines:
        raise InputError("the bundle has no pipeline; export a ranker that can retrieve, too")
    with listen(ServerSettings(options.bundle, HOST, own.port)) as listening:
        marks = Marks(Path(options.output), whole_documents(bundle.files), texts, own.split)
        service = JudgeService(bundle, documents, marks, own.pipeline)
        address = f"http://{HOST}:{listening.getsockname()[1]}"
        say(f"judge {len(marks.queries):,} queries at {address} (end with Ctrl-C)")
        if own.browser and _has_browser():
            with suppress(webbrowser.Error):
                webbrowser.open(address)
        serve(service, listening)
    show(summary(marks, options.bundle))


def summary(marks: "Marks", bundle: str) -> str:
    """Return how far the judge came, and the commands that read the judgements.

    Args:
        marks: the judgements.
        bundle: the bundle's path, for the commands.
    """
    from ranklet.runtime.storage.address import shown

    grades = [marks.grades().get(query.id, {}) for query in marks.queries]
    judged = sum(bool(each) for each in grades)
    answered = sum(max(each.values(), default=0) > 0 for each in grades)
    total = f"{judged:,} of {len(grades):,} queries are judged"
    text = f"{total}, {answered:,} with a relevant document → {marks.folder}"
    if answered:
        operands = shown(bundle), marks.folder
        text += f"\ntry: {suggest_command('eval', *operands, split=marks.split)}"
        text += f"\n     {suggest_command('learn', *operands, output='better.ranklet')}"
    return text


def read_queries(path: str) -> Sequence[str]:
    """Return the texts of the queries in a file, or of the standard input for -.

    Raises:
        CollectionError: the file cannot be read, is a table, or has no query.
        InputError: the standard input has no query.
    """
    from ranklet.corpus.sources.query_texts import read_query_texts

    if path != "-":
        return read_query_texts(path)
    texts = list(make_lines(sys.stdin.buffer))
    if not texts:
        raise InputError("the standard input has no query; give one query per line")
    return texts


def _has_browser() -> bool:
    """Return whether there is a screen; without one a browser would take over the terminal."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
