"""Serve a bundle to assistants over the Model Context Protocol, on standard input and output."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from ranklet.commands.rank import COLLECTION, ENDPOINT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument("--query-endpoint", metavar="URL", help=ENDPOINT)
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
    from ranklet.handlers.api.additions import Writer
    from ranklet.handlers.api.limits import Limits
    from ranklet.handlers.mcp.service import serve
    from ranklet.handlers.server.writing_process import WritingProcess
    from ranklet.runtime import InputError, load
    from ranklet.runtime.dense.endpoint import use_endpoint
    from ranklet.runtime.storage.address import writable

    use_endpoint(options.query_endpoint)
    limits = Limits.from_variables(os.environ)
    bundle = partial(load, options.bundle, collection=options.collection)
    writer, process = None, WritingProcess()
    if options.writable:
        if options.collection:
            raise InputError("a collection in Milvus is written to there; leave --writable out")
        path = str(writable(options.bundle))
        writer = Writer(path, elsewhere=process.write, seconds=limits.seconds)
    with _ended_at_once(), closing(process):
        serve(bundle, limits, options.about or "", writer)


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
