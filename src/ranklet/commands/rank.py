"""Rank a bundle's collection for a query."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from ranklet.runtime import Ranking

SHOWN = 300  # maximum number of characters that are printed of a document's text
SHOWN_VALUE = 60  # maximum number of characters that are printed of a value of its metadata
ROWS = 10  # maximum number of rows that are printed of an explanation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder or .zip")
    parser.add_argument("query", help="the query, or - to read queries from standard input")
    parser.add_argument("-k", type=int, default=10, help="number of hits")
    parser.add_argument(
        "--where", metavar="JSON", help='filter by metadata, such as \'{"year": {">=": 2020}}\''
    )
    parser.add_argument("--pipeline", help="pipeline to use (default: the bundle's default)")
    parser.add_argument(
        "--budget-ms", type=float, help="skip stages that would begin after this many milliseconds"
    )
    parser.add_argument(
        "--explain", action="store_true", help="explain every score, by its strongest parts"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per query")


def run(options: argparse.Namespace) -> None:
    """Rank and print the hits."""
    from ranklet.runtime import load

    bundle = load(options.bundle)
    where = None if options.where is None else _filter(options.where)
    queries = _lines(sys.stdin.buffer) if options.query == "-" else [options.query]
    for query in queries:
        ranking = bundle.rank(
            query,
            k=options.k,
            where=where,
            pipeline=options.pipeline,
            explain=options.explain,
            budget_ms=options.budget_ms,
        )
        print(ranking.to_json() if options.json else as_text(ranking))


def _filter(text: str) -> dict[str, Any]:
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


def _lines(source: BinaryIO) -> Iterator[str]:
    """Yield the lines that are not blank, with bytes replaced that are not UTF-8."""
    for line in source:
        if query := line.decode("utf-8", "replace").strip():
            yield query


def shown(value: object) -> str:
    """Return a value of metadata on one line, shortened.

    >>> shown("red"), shown(["a", "b"]), shown(True)
    ('red', '[a, b]', 'true')
    """
    if isinstance(value, list):
        return f"[{shown(', '.join(value))}]"
    text = " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN_VALUE else f"{text[:SHOWN_VALUE]}…"


def as_text(ranking: "Ranking") -> str:
    """Return a ranking as readable text."""
    from ranklet.runtime.hits import plain

    if not len(ranking):
        return f"no hits for {ranking.query!r}"
    lines = []
    for place, hit in enumerate(ranking, 1):
        lines.append(f"{place:2}. {hit.score:8.4f}  {hit.name}  {hit.title}".rstrip())
        text = " ".join(hit.text.split())
        lines.append(f"              {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}")
        if hit.metadata:
            values = (f"{name}={shown(value)}" for name, value in plain(hit.metadata).items())
            lines.append(f"              {', '.join(values)}")
        if hit.explanation is not None:
            tree = hit.explanation.text(ROWS, " (--json, or explain --html FILE, shows all)")
            lines += [f"      {line}" for line in tree.splitlines()]
    total = sum(timing.ms for timing in ranking.timings)
    lines.append(f"({total:.1f} ms)")
    for ranker, count in ranking.truncated.items():
        lines.append(f"truncated because longer than {ranker} reads: {count}")
    if ranking.left_out:
        lines.append(f"no time for: {'; '.join(ranking.left_out)}")
    return "\n".join(lines)
