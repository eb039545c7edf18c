"""Explain one document's score for a query, ranked high or not."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle: folder or .zip")
    parser.add_argument("query", help="what was asked")
    parser.add_argument("document", help="id of a document of the collection")
    parser.add_argument("--pipeline", help="a pipeline of the bundle (default: its default)")
    parser.add_argument("--json", action="store_true", help="the tree as JSON")


def run(options: argparse.Namespace) -> None:
    """Explain and print."""
    from ranklet.runtime import load

    found = load(options.bundle).explain(options.query, options.document, pipeline=options.pipeline)
    print(json.dumps(found.to_json(), ensure_ascii=False) if options.json else found)
