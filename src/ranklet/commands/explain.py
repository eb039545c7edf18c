"""Explain the scores of documents for a query, as text, as JSON or as a web page."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import say, show, show_json
from ranklet.commands.pages import FORCE, check_page, write_page
from ranklet.commands.rank import COLLECTION
from ranklet.commands.rank.answers import ROWS, describe_ignored
from ranklet.runtime.asks import Ask
from ranklet.runtime.ground.errors import InputError

if TYPE_CHECKING:
    from ranklet.runtime.hits import Hit


HINT = " (--json or --html FILE shows all)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument("query", help="the query")
    parser.add_argument(
        "document",
        nargs="*",
        default=[],
        help="ids of the documents to explain, ranked high or not (default: the best -k)",
    )
    add_options(lambda _: parser, Ask(k=5), "k", "where", "boost", "pipeline")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON tree per line")
    shape.add_argument("--html", type=Path, metavar="FILE", help="write a web page")
    parser.add_argument("--force", action="store_true", help=FORCE)


def run(options: argparse.Namespace) -> None:
    """Explain the scores, and print or write the explanations."""
    from ranklet.runtime import load

    if options.html:
        check_page(options.html, force=options.force)
    for name, flag in (("where", "--where"), ("k", "-k")):
        if name in options and options.document:
            raise InputError(f"{flag} is of a search; leave it out, because ids name the documents")
    ask = options_from(Ask(k=5, explain=True), vars(options))
    bundle = load(options.bundle, collection=options.collection)
    query, pipeline, boost = options.query, ask.pipeline, ask.boost
    hits: list[Hit]
    ignored: list[str] = []
    if options.document:
        names = options.document
        hits = [bundle.explained(query, each, pipeline=pipeline, boost=boost) for each in names]
    else:
        ranking = bundle.rank(query, **ask.given())
        hits, ignored = list(ranking), describe_ignored(ranking)
    if options.html:
        from ranklet.handlers.playground.explained_page import explained_page

        write_page(options.html, explained_page(bundle, query, hits))
        say(f"{len(hits)} explained → {options.html}")
        return
    alone = len(options.document) == 1
    for hit in hits:
        if options.json:
            show_json(as_json(hit, alone))
        else:
            if not alone or hit.passage is not None:
                say(f"{hit.name}  {hit.title}")
            show(hit.explanation.text(ROWS, HINT) if hit.explanation else "")
    if not hits and not options.json:
        say(f"no hits for {query!r}", *ignored)


def as_json(hit: "Hit", alone: bool) -> str:
    """Return a hit's tree as one line of JSON, with its id unless it is the only hit."""
    tree = hit.explanation.to_dict() if hit.explanation else {}
    name = {} if alone else {"id": hit.id}
    passage = {} if hit.passage is None else {"passage": hit.passage}
    return json.dumps({**name, **passage, **tree}, ensure_ascii=False)
