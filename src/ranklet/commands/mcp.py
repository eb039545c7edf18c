"""Serve a bundle to assistants over the Model Context Protocol, on standard input and output."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ranklet.commands.rank import COLLECTION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument(
        "--about",
        metavar="TEXT",
        help="what the documents are, so that assistants know when to search",
    )


def run(options: argparse.Namespace) -> None:
    """Answer until the client closes standard input; docs/integrations.md says how to start it."""
    from ranklet.handlers.api.limits import Limits
    from ranklet.handlers.mcp.service import serve
    from ranklet.runtime import load

    with _ended_at_once():
        bundle = load(options.bundle, collection=options.collection)
        serve(bundle, Limits.from_variables(os.environ), options.about or "")


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the process: nothing is written that could be left half done.

    As an exception they would wait for the thread that reads standard input.
    """
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
