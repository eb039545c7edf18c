"""Write a bundle's collection as a feed for another search engine.

The folder has the engine's schema, every document with its vectors and metadata, and a query that
returns documents in the bundle's own order. With --query alone only that query is printed.
"""

import argparse

from ranklet.commands.output import say, show, show_json
from ranklet.runtime.arguments import check_query

ENGINES = ("vespa", "opensearch", "elasticsearch", "qdrant")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", metavar="BUNDLE", help="an indexed bundle, or its address")
    parser.add_argument("--to", required=True, choices=ENGINES, help="the engine")
    parser.add_argument("-o", "--output", help="folder to write")
    parser.add_argument("--query", help="text of a query to write, or to print without --output")
    parser.add_argument("-k", type=int, default=10, help="hits that the query returns")
    parser.add_argument(
        "--ranker", action="append", default=[], metavar="NAME",
        help="ranker to feed; repeat it for several (default: all with vectors or impacts); the "
        "query uses the first",
    )  # fmt: skip
    parser.add_argument("--name", help="index in the engine, if it is not called as the bundle is")
    parser.add_argument("--force", action="store_true", help="replace an earlier feed")


def run(options: argparse.Namespace) -> None:
    """Write the feed, or print the query."""
    import json

    from ranklet.export.feeds.writing import query_body, write_feed
    from ranklet.runtime.arguments import check_whole
    from ranklet.runtime.errors import InputError

    check_whole("k", options.k, 0)
    if options.query is not None:
        check_query(options.query)
    name = options.name or ""
    if options.output is None:
        if options.query is None:
            raise InputError("give a folder to write (-o FOLDER), or a --query to print")
        first = options.ranker[0] if options.ranker else ""
        body = query_body(
            options.bundle, options.to, options.query, ranker=first, index=name, k=options.k
        )
        show_json(json.dumps(body, ensure_ascii=False))
        return
    usage = write_feed(
        options.bundle,
        options.to,
        options.output,
        rankers=options.ranker,
        index=name,
        query=options.query or "",
        k=options.k,
        overwrite=options.force,
    )
    say(f"feed for {options.to} → {options.output}", "load and search it from there:", "")
    show(usage)
