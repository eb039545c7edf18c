"""Print the parts of documents that answer a query best, as many as fit into a prompt."""

import argparse

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import show, show_json
from ranklet.commands.rank import COLLECTION
from ranklet.runtime.asks import ContextAsk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument("query", help="the query")
    add_options(lambda _: parser, ContextAsk())
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> None:
    """Print the context, each part after a line with its source."""
    from ranklet.commands.rank.answers import laid_out
    from ranklet.runtime import load

    ask = options_from(ContextAsk(), vars(options))
    bundle = load(options.bundle, collection=options.collection)
    found = bundle.context(options.query, **ask.given())
    if options.json:
        show_json(found.to_json())
        return
    said = [*(found.text.split("\n") if found else ()), *found.left_out]
    said = said or [f"nothing found for {found.query!r}"]
    show(laid_out([*said, f"({found.tokens:,} of {found.budget:,} tokens)"]))
