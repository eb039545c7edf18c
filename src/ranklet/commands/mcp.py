"""Serve a bundle to assistants over the Model Context Protocol, on standard input and output."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

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
    parser.add_argument(
        "--writable",
        action="store_true",
        help="also let assistants remember texts and forget documents",
    )


def run(options: argparse.Namespace) -> None:
    """Answer until the client closes standard input; docs/integrations.md says how to start it."""
    from ranklet.handlers.api.limits import Limits
    from ranklet.handlers.api.writing import Writer
    from ranklet.handlers.mcp.service import serve
    from ranklet.runtime import InputError, load
    from ranklet.runtime.storage.address import writable

    bundle = partial(load, options.bundle, collection=options.collection)
    writer = None
    if options.writable:
        if options.collection:
            raise InputError("a collection in Milvus is written to there; leave --writable out")
        writer = Writer(str(writable(options.bundle)))
    with _ended_at_once():
        serve(bundle, Limits.from_variables(os.environ), options.about or "", writer)


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the process: no write is ever half done.

    As an exception they would wait for the thread that reads standard input.
    """
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
