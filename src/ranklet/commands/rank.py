"""Rank a bundle's collection for a query."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from ranklet.runtime import Ranking

SHOWN = 300  # maximum number of characters that are printed of a document's text
ROWS = 10  # maximum number of rows that are printed of an explanation


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


def run(options: argparse.Namespace) -> None:
    """Rank and print the hits."""
    from ranklet.runtime import load
    from ranklet.runtime.lexical.query_syntax import typed_query

    bundle = load(options.bundle, collection=options.collection)
    where = None if options.where is None else read_filter(options.where)
    queries = _lines(sys.stdin.buffer) if options.query == "-" else [options.query]
    for text in queries:
        ranking = bundle.rank(
            typed_query(text, syntax=options.syntax, typos=options.typos),
            k=options.k,
            where=where,
            offset=options.offset,
            min_score=options.min_score,
            group_by=options.group_by,
            group_size=options.group_size,
            pipeline=options.pipeline,
            explain=options.explain,
            budget_ms=options.budget_ms,
        )
        print(ranking.to_json() if options.json else as_text(ranking, options.offset))


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


def _lines(source: BinaryIO) -> Iterator[str]:
    """Yield the lines that are not blank, with bytes replaced that are not UTF-8."""
    for line in source:
        if query := line.decode("utf-8", "replace").strip():
            yield query


def as_text(ranking: "Ranking", offset: int = 0) -> str:
    """Return a ranking as readable text, whose first hit has the place after `offset`."""
    from ranklet.runtime.hits import in_line

    lines = [
        f"searched for {better!r} instead of {word!r}"
        for word, better in ranking.corrections.items()
    ]
    if not len(ranking):
        return "\n".join([*lines, f"no hits for {ranking.query!r}"])
    for place, hit in enumerate(ranking, offset + 1):
        lines.append(f"{place:2}. {hit.score:8.4f}  {hit.name}  {hit.title}".rstrip())
        text = " ".join(hit.text.split())
        lines.append(f"              {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}")
        if hit.metadata:
            lines.append(f"              {in_line(hit.metadata)}")
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
