"""Rank a bundle's collection for a query."""

import argparse
import sys
from collections.abc import Iterator
from typing import BinaryIO

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import show, show_json
from ranklet.runtime.asks import Ask

COLLECTION = "collection in Milvus to rank, such as milvus://HOST:PORT/NAME (docs/scaling.md)"
ENDPOINT = (
    "address that encodes queries where vectors came from outside, in the form of OpenAI's "
    "embeddings (docs/own-vectors.md; default: $RANKLET_QUERY_ENDPOINT)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument("--at", type=int, metavar="N", help="version to rank; see `ranklet log`")
    about = 'the query; "" finds all documents, and - reads queries from standard input'
    parser.add_argument("query", help=about)
    parser.add_argument("--query-endpoint", metavar="URL", help=ENDPOINT)
    add_options(lambda _: parser, Ask())
    parser.add_argument("--json", action="store_true", help="print one JSON object per query")


def run(options: argparse.Namespace) -> None:
    """Rank and print the hits."""
    from ranklet.commands.rank.answers import as_text
    from ranklet.runtime import load
    from ranklet.runtime.dense.endpoint import use_endpoint

    use_endpoint(options.query_endpoint)
    ask = options_from(Ask(), vars(options))
    bundle = load(options.bundle, collection=options.collection)
    if options.at is not None:
        bundle = bundle.at(options.at)
    for query in make_lines(sys.stdin.buffer) if options.query == "-" else [options.query]:
        ranking = bundle.rank(query, **ask.given())
        if options.json:
            read = show_json(ranking.to_json())
        else:
            read = show(as_text(ranking, ask.offset, wanted=ask.k != 0))
        if not read:  # nobody reads the answers to queries that are still to come
            break


def make_lines(source: BinaryIO) -> Iterator[str]:
    """Yield the lines that are not blank, with bytes replaced that are not UTF-8."""
    for line in source:
        if query := line.decode("utf-8", "replace").removeprefix("\ufeff").strip():
            yield query
