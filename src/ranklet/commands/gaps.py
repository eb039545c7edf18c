"""List the queries that nothing is likely to answer, grouped by the words that their hits lack.

QUERIES has one query per line, again and again if it was asked so, or is JSON Lines with a text;
with - it is read from the standard input. A word that no document has is a text to write, or a
synonym to add; docs/relevance.md says how likely an answer is.
"""

import argparse
import json
from typing import TYPE_CHECKING

from ranklet.commands.judge import read_queries
from ranklet.commands.output import say, show_json

if TYPE_CHECKING:
    from ranklet.corpus.evaluation.gaps import Gap, Gaps

EXAMPLES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from ranklet.corpus.evaluation.gaps import BELOW

    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("queries", metavar="QUERIES", help="file with the queries, or -")
    parser.add_argument(
        "--below", type=float, default=BELOW, metavar="X",
        help="list queries whose best hit answers them with a lower probability, up to 1",
    )  # fmt: skip
    parser.add_argument("--pipeline", help="whose hits are read (default: the bundle's default)")
    parser.add_argument(
        "--examples", type=int, default=EXAMPLES, metavar="N", help="queries shown of each group"
    )
    parser.add_argument("--json", action="store_true", help="print all as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Rank all queries and print the groups."""
    from ranklet.corpus.evaluation.gaps import find_gaps
    from ranklet.runtime import load
    from ranklet.runtime.ground.options import check_whole

    check_whole("--examples", options.examples, 0)
    queries = read_queries(options.queries)
    found = find_gaps(load(options.bundle), queries, below=options.below, pipeline=options.pipeline)
    if options.json:
        show_json(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    say(
        summarise(found),
        *(line for gap in found.gaps for line in make_lines(gap, options.examples)),
    )


def summarise(found: "Gaps") -> str:
    """Return how many queries nothing is likely to answer."""
    share = found.unanswered / found.queries
    return (
        f"{found.unanswered:,} of {found.queries:,} queries ({share:.1%}) have no hit that is "
        f"{found.below:.0%} likely to answer"
    )


def make_lines(gap: "Gap", examples: int) -> list[str]:
    """Return a group and its most frequent queries."""
    many = "document" if gap.documents == 1 else "documents"
    where = f"in {gap.documents:,} {many}" if gap.documents else "in no document"
    where = "in no hit" if gap.documents is None else where
    name = f"{gap.word} ({where})" if gap.word else "no word is missing"
    lines = ["", f"{gap.count:6,}  {name}"]
    for each in gap.queries[:examples]:
        times = f"{each.count:,} × " if each.count > 1 else ""
        best = "no hit" if each.best is None else f"best {' '.join(each.best)}".rstrip()
        meant = f"; meant {each.suggestion!r}?" if each.suggestion else ""
        lines.append(f"        {times}{each.query}  ({each.answerable:.0%}; {best}{meant})")
    return lines
