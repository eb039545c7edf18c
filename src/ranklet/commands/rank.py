"""Rank a bundle's collection for a query."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from ranklet.runtime import Ranking

SHOWN = 300  # maximum number of characters that are printed of a document's text
ROWS = 10  # maximum number of rows that are printed of an explanation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder or .zip")
    parser.add_argument("query", help="the query, or - to read queries from standard input")
    parser.add_argument("-k", type=int, default=10, help="number of hits")
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
    queries = _lines(sys.stdin.buffer) if options.query == "-" else [options.query]
    for query in queries:
        ranking = bundle.rank(
            query,
            k=options.k,
            pipeline=options.pipeline,
            explain=options.explain,
            budget_ms=options.budget_ms,
        )
        print(ranking.to_json() if options.json else as_text(ranking))


def _lines(source: BinaryIO) -> Iterator[str]:
    """Yield the lines that are not blank, with bytes replaced that are not UTF-8."""
    for line in source:
        if query := line.decode("utf-8", "replace").strip():
            yield query


def as_text(ranking: "Ranking") -> str:
    """Return a ranking as readable text."""
    if not len(ranking):
        return f"no hits for {ranking.query!r}"
    lines = []
    for place, hit in enumerate(ranking, 1):
        lines.append(f"{place:2}. {hit.score:8.4f}  {hit.name}  {hit.title}".rstrip())
        text = " ".join(hit.text.split())
        lines.append(f"              {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}")
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
