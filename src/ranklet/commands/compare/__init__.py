"""Compare the hits of two bundles, or of two pipelines, for queries without judgements.

QUERIES has one query per line, or is JSON Lines with a text; with - it is read from the standard
input. Per query, the hits that moved, entered and left are shown, those of the most changed queries
first. Whether a change is for the better is for a reader, or `ranklet judge` and `ranklet eval`.
"""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.commands.judge import read_queries
from ranklet.commands.output import say, show_json
from ranklet.commands.pages import FORCE, check_page, write_page
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import read_names

if TYPE_CHECKING:
    from ranklet.corpus.evaluation.agreement import Agreement

SHOWN = 10  # queries on the terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("before", metavar="A", help="bundle, a folder, .zip or address")
    parser.add_argument("after", metavar="B", help="another bundle, or the same again")
    parser.add_argument("queries", metavar="QUERIES", help="file with the queries, or -")
    parser.add_argument("-k", type=int, default=10, help="number of hits that are compared")
    parser.add_argument(
        "--pipelines", metavar="A,B", help="a pipeline of each (default: each bundle's default)"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON object per query")
    shape.add_argument("--html", type=Path, metavar="FILE", help="write a page of all queries")
    parser.add_argument("--force", action="store_true", help=FORCE)


def run(options: argparse.Namespace) -> None:
    """Rank all queries twice, and print or write what differs."""
    from ranklet.commands.compare.page import page
    from ranklet.corpus.evaluation.agreement import Agreement
    from ranklet.corpus.progress import progress
    from ranklet.runtime import load
    from ranklet.runtime.ground.options import check_whole

    check_whole("-k", options.k, 1)
    if options.html:
        check_page(options.html, force=options.force)
    names = read_names(options.pipelines) if options.pipelines else [None, None]
    if len(names) != 2:
        raise InputError(
            f"--pipelines is {options.pipelines!r}; give one of each bundle, such as bm25,hybrid"
        )
    bundles = [load(each) for each in (options.before, options.after)]
    if options.before == options.after and names[0] == names[1]:
        raise InputError("A and B are the same; give two bundles, or two pipelines by --pipelines")
    titles: dict[str, str] = {}
    found = []
    for query in progress(queries := read_queries(options.queries), "ranking", len(queries)):
        rankings = [
            bundle.rank(query, k=options.k, pipeline=name)
            for bundle, name in zip(bundles, names, strict=True)
        ]
        titles |= {hit.id: hit.title for ranking in rankings for hit in ranking}
        found.append(Agreement(query, *([hit.id for hit in ranking] for ranking in rankings)))
    sides = [
        f"{given} ({name or bundle.manifest.default_pipeline})"
        for given, name, bundle in zip((options.before, options.after), names, bundles, strict=True)
    ]
    if options.json:
        for each in found:
            show_json(json.dumps(as_json(each), ensure_ascii=False))
        return
    found.sort(key=lambda each: each.rbo)
    summary = summarise(found, options.k)
    if options.html:
        write_page(options.html, page(sides, summary, found, titles))
        say(*summary, f"all queries → {options.html}")
        return
    say(f"A is {sides[0]}", f"B is {sides[1]}", *summary)
    differ = [each for each in found if each.changed]
    for each in differ[:SHOWN]:
        say("", f"{each.rbo:.2f}  {each.query}", *make_lines(each, titles))
    if len(differ) > SHOWN:
        say("", f"{len(differ) - SHOWN:,} more queries differ; --html FILE shows all of them")


def summarise(found: "list[Agreement]", k: int) -> list[str]:
    """Return what all queries have in common, one fact per line."""
    same = sum(not each.changed for each in found)
    sets = sum(set(each.before) == set(each.after) for each in found)
    first = sum(each.before[:1] == each.after[:1] for each in found)
    mean = sum(each.overlap for each in found) / len(found)
    rbo = sum(each.rbo for each in found) / len(found)
    return [
        f"{len(found):,} queries, the first {k} hits of each",
        f"{same:,} have the same hits in the same order, {sets:,} the same hits in any order, "
        f"{first:,} the same first hit",
        f"mean overlap {mean:.1%}, mean rank-biased overlap {rbo:.3f} (p = 0.9)",
    ]


def make_lines(each: "Agreement", titles: dict[str, str]) -> list[str]:
    """Return what became of each hit that changed, best first.

    >>> from ranklet.corpus.evaluation.agreement import Agreement
    >>> make_lines(Agreement("q", ["a", "b"], ["b", "c"]), {"a": "Cats"})
    ['       2 → 1    b', '     new → 2    c', '       1 → out  a  Cats']
    """
    return [
        f"  {before or 'new':>6} → {after or 'out':<4} {name}  {titles.get(name, '')}".rstrip()
        for name, (before, after) in each.changed.items()
    ]


def as_json(each: "Agreement") -> dict[str, object]:
    """Return a query with its measures and both rankings."""
    return {
        "query": each.query,
        "overlap": round(each.overlap, 6),
        "rbo": round(each.rbo, 6),
        "changed": [
            {"id": name, "before": before, "after": after}
            for name, (before, after) in each.changed.items()
        ],
        "before": list(each.before),
        "after": list(each.after),
    }
