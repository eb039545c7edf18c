"""Rank a bundle's collection for a query."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from ranklet.commands.output import show, show_json
from ranklet.handlers.api.fields import ABSENT, FACETS, FLAG, NAMES, OBJECT, TEXTS, Route, fields_of

COLLECTION = "collection in Milvus to rank, such as milvus://HOST:PORT/NAME (docs/scaling.md)"
# How the value of an option is read from its text, and what the help calls it.
_VALUES = {
    "integer": (int, "N"),
    "number": (float, "NUMBER"),
    "string": (str, "NAME"),
    "object": (str, "JSON"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument("--at", type=int, metavar="N", help="version to rank; see `ranklet log`")
    parser.add_argument("query", help="the query, or - to read queries from standard input")
    add_fields(parser, Route.COMMAND)
    parser.add_argument("--json", action="store_true", help="print one JSON object per query")


def add_fields(parser: argparse.ArgumentParser, route: Route) -> None:
    """Declare an option for each field of a route but the query."""
    for name, field in fields_of(route).items():
        if name == "query" or field.type is ABSENT:
            continue
        flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
        more: dict[str, Any] = {"action": "store_true"}
        if field.type is TEXTS:
            more = {"action": "append", "metavar": "ID"}
        elif field.type in (FACETS, NAMES):
            flag = flag.removesuffix("s")
            more = {"action": "append", "metavar": "NAME", "dest": name}
        elif field.default is True:
            flag, more = f"--no-{name}", {"action": "store_false", "dest": name}
        elif field.type is not FLAG:
            reads, metavar = _VALUES[field.type.json]
            more = {"type": reads, "metavar": metavar, "default": field.default}
        about = f"do not {field.help}" if field.default is True else field.help
        if field.values:
            more["choices"] = field.values
        parser.add_argument(flag, help=about, **more)


def run(options: argparse.Namespace) -> None:
    """Rank and print the hits."""
    from ranklet.commands.rank.answers import as_text
    from ranklet.runtime import load

    given = given_fields(options, Route.COMMAND)
    if options.facets is not None:
        given["facets"] = read_facets(options.facets)
    bundle = load(options.bundle, collection=options.collection)
    if options.at is not None:
        bundle = bundle.at(options.at)
    for query in lines_of(sys.stdin.buffer) if options.query == "-" else [options.query]:
        ranking = bundle.rank(query, **given)
        if options.json:
            read = show_json(ranking.to_json())
        else:
            read = show(as_text(ranking, options.offset, wanted=options.k != 0))
        if not read:  # nobody reads the answers to queries that are still to come
            break


def given_fields(options: argparse.Namespace, route: Route) -> dict[str, Any]:
    """Return the fields of a route, as options give them."""
    return {
        name: read_object(value, name) if field.type is OBJECT and value is not None else value
        for name, field in fields_of(route).items()
        if name != "query" and field.type is not ABSENT
        for value in [getattr(options, name)]
    }


_EXAMPLES = {
    "where": '{"year": {">=": 2020}}',
    "fields": '{"title": 3}',
    "boost": '{"date": {"half_life": "30d", "weight": 0.2}}',
    "facet": '{"year": {"ranges": [[2000, 2010]]}}',
}


def read_facets(texts: list[str]) -> dict[str, Any]:
    """Return options by field, of names and of JSON objects."""
    facets: dict[str, Any] = {}
    for text in texts:
        whole = text.lstrip().startswith("{")
        facets |= read_object(text, "facet") if whole else {text: None}
    return facets


def read_object(text: str, name: str = "where") -> dict[str, Any]:
    """Return the object that the JSON text of an option is; the bundle checks what it says.

    Raises:
        InputError, RequestError: it is no JSON object, or has a key twice.
    """
    from ranklet.handlers.api.reading import loads  # a key that stands twice is an error
    from ranklet.runtime import InputError

    try:
        value = loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"--{name} is not JSON ({error}); give an object such as '{_EXAMPLES[name]}'"
        ) from None
    if not isinstance(value, dict):
        raise InputError(f"--{name} must be a JSON object, not {text[:40]}")
    return value


def lines_of(source: BinaryIO) -> Iterator[str]:
    """Yield the lines that are not blank, with bytes replaced that are not UTF-8."""
    for line in source:
        if query := line.decode("utf-8", "replace").removeprefix("\ufeff").strip():
            yield query
