"""Complete what a person types, by titles, values of fields and frequent words of a bundle."""

import argparse
import json

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import say, show_json
from ranklet.handlers.api.field import Route
from ranklet.handlers.api.fields import list_fields
from ranklet.runtime.answers.console import printable
from ranklet.runtime.asks import Ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    fields = list_fields(Route.COMPLETE)
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("prefix", help=fields["q"].help)
    parser.add_argument(
        "-k", type=int, default=fields["k"].default, metavar="N", help=fields["k"].help
    )
    add_options(lambda _: parser, Ask(), "where")
    parser.add_argument("--json", action="store_true", help="print one JSON list")


def run(options: argparse.Namespace) -> None:
    """Complete and print, one completion per line."""
    from ranklet.runtime import load

    ask = options_from(Ask(), vars(options))
    found = load(options.bundle).complete(options.prefix, options.k, where=ask.where)
    if options.json:
        show_json(json.dumps([each._asdict() for each in found], ensure_ascii=False))
        return
    for text, field in found:
        say(printable(f"{text}  ({field})" if field else text))
