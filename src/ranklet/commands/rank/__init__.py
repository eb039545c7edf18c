"""Rank a bundle's collection for a query."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ranklet.commands.engine import add_engine, engine_from
from ranklet.commands.output import show, show_json

COLLECTION = "collection in Milvus to rank, such as milvus://HOST:PORT/NAME (docs/milvus.md)"
WHERE = 'filter by metadata, such as \'{"year": {">=": 2020}}\' (docs/filtering.md)'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--collection", metavar="ADDRESS", help=COLLECTION)
    parser.add_argument("query", help="the query, or - to read queries from standard input")
    parser.add_argument("-k", type=int, default=10, help="number of hits")
    parser.add_argument("--offset", type=int, default=0, help="best hits to leave out")
    parser.add_argument("--min-score", type=float, help="leave out hits with a lower score")
    parser.add_argument(
        "--group-by",
        metavar="FIELD",
        help="at most one hit per value of this field of the metadata",
    )
    parser.add_argument("--group-size", type=int, default=1, help="hits per value, with --group-by")
    parser.add_argument("--where", metavar="JSON", help=WHERE)
    parser.add_argument("--pipeline", help="pipeline to use (default: the bundle's default)")
    parser.add_argument(
        "--budget-ms", type=float, help="skip stages that would begin after this many milliseconds"
    )
    parser.add_argument(
        "--explain", action="store_true", help="explain every score, by its strongest parts"
    )
    parser.add_argument(
        "--syntax",
        action="store_true",
        help='read "exact phrase", -excluded and prefi* in the query',
    )
    parser.add_argument(
        "--typos",
        action="store_true",
        help="replace unknown words by ones that differ in one letter",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per query")
    add_engine(parser)


def run(options: argparse.Namespace) -> None:
    """Rank and print the hits."""
    from ranklet.commands.rank.answers import answers, answers_on
    from ranklet.runtime import InputError, load
    from ranklet.runtime.storage.address import is_address

    engine, printed = engine_from(options), show_json if options.json else show
    settings = {
        "rank": {
            "k": options.k,
            "where": None if options.where is None else read_filter(options.where),
            "offset": options.offset,
            "min_score": options.min_score,
            "group_by": options.group_by,
            "group_size": options.group_size,
            "pipeline": options.pipeline,
            "explain": options.explain,
            "budget_ms": options.budget_ms,
        },
        "typed": {"syntax": options.syntax, "typos": options.typos},
        "json": options.json,
    }
    queries = lines_of(sys.stdin.buffer) if options.query == "-" else iter([options.query])
    if engine.on_ray:
        if options.collection or is_address(options.bundle):
            raise InputError(
                "--engine ray ranks a bundle with its documents on a disk of this machine; give "
                "such a one, or leave --engine out"
            )
        for text in answers_on(engine, Path(options.bundle), queries, settings):
            if not printed(text):
                break
        return
    bundle = load(options.bundle, collection=options.collection)
    for text in map(answers(bundle, settings), queries):
        if not printed(text):  # nobody reads the answers to queries that are still to come
            break


def read_filter(text: str) -> dict[str, Any]:
    """Return the filter that a JSON text is; its fields and operators are checked by the bundle."""
    from ranklet.runtime import InputError

    try:
        where = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f'--where is not JSON ({error}); give an object such as \'{{"year": {{">=": 2020}}}}\''
        ) from None
    if not isinstance(where, dict):
        raise InputError(f"--where must be a JSON object, not {text[:40]}")
    return where


def lines_of(source: BinaryIO) -> Iterator[str]:
    """Yield the lines that are not blank, with bytes replaced that are not UTF-8."""
    for line in source:
        if query := line.decode("utf-8", "replace").strip():
            yield query
