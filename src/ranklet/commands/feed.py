"""Write a bundle's collection as one JSONL for another search engine.

Every line is a document with its metadata, and with the vectors and impacts of the rankers. A file
that ends in .ciff gets the words of the documents in the Common Index File Format.
With --query, the query's vectors are printed: their products with those of documents are scores.
"""

import argparse

from ranklet.commands.output import say, show_json
from ranklet.runtime.asks import check_query


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", metavar="BUNDLE", help="an indexed bundle, or its address")
    parser.add_argument("-o", "--output", help="file to write, such as feed.jsonl or index.ciff")
    parser.add_argument("--query", help="text of a query whose vectors are printed")
    parser.add_argument(
        "--ranker", action="append", default=[], metavar="NAME",
        help="ranker to feed; repeat it for several (default: all with vectors or impacts)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


def run(options: argparse.Namespace) -> None:
    """Write the feed, or print the query's vectors."""
    from ranklet.runtime.ground.errors import InputError
    from ranklet.workflows.feeds.ciff import SUFFIX, write_ciff
    from ranklet.workflows.feeds.entries import as_json
    from ranklet.workflows.feeds.writing import query_vectors, write_feed

    if (options.output is None) == (options.query is None):
        raise InputError("give a file to write (-o FILE), or a --query to print")
    if options.query is not None:
        check_query(options.query)
        show_json(as_json(query_vectors(options.bundle, options.query, rankers=options.ranker)))
        return
    if options.output.endswith(SUFFIX):
        if options.ranker:
            raise InputError(f"a file {SUFFIX} has words and no ranker; leave out --ranker")
        count = write_ciff(options.bundle, options.output, overwrite=options.force)
        say(f"{count:,} documents → {options.output}")
        return
    count = write_feed(
        options.bundle, options.output, rankers=options.ranker, overwrite=options.force
    )
    say(f"{count:,} lines → {options.output}; docs/scaling.md has a recipe per engine")
