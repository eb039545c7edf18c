"""Learn the best search of a bundle's documents from judged queries.

Rankers are learned as far as the time allows, chosen on queries that they did not learn from, and
reported on others, once. The exit status is 3 if nothing was sure to gain. Then nothing is written.
"""

import argparse

from ranklet.commands.output import say, show

NOTHING_GAINED = 3  # exit status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle with documents, on disk")
    parser.add_argument(
        "judged",
        help="folder of judged queries in BEIR form or of `ranklet judge`, or a .csv or .tsv file "
        "of clicks with the columns query, id, clicks and perhaps position",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="wall time that learning may take"
    )
    parser.add_argument(
        "--max-ms", type=float, metavar="X",
        help="most milliseconds per query on this machine, at the 95th percentile (default: any)",
    )  # fmt: skip
    parser.add_argument(
        "--max-mb", type=float, metavar="X", help="largest bundle, in 10⁶ bytes (default: any)"
    )
    parser.add_argument(
        "--no-network",
        action="store_true",
        help="let no network read queries, for the fastest start",
    )
    parser.add_argument("--measure", default="MRR@10", help="what to learn for: MRR@k, nDCG@k, R@k")
    parser.add_argument(
        "--model", metavar="FOLDER",
        help="encoder to train, a folder or a name on the hub (default: MiniLM-L6, if the bundle "
        "has it or the texts are English)",
    )  # fmt: skip
    parser.add_argument(
        "--html", metavar="PATH", help="page with all that was tried (default: OUTPUT.html)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace an existing bundle, and a file at the page's place",
    )


def needs(_: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "train"


def run(options: argparse.Namespace) -> int:
    """Learn, write the bundle and print what was gained; return the exit status."""
    from pathlib import Path

    from ranklet.commands.pages import check_page, write_page
    from ranklet.export.learning.learn import learn
    from ranklet.export.learning.page import page
    from ranklet.export.learning.table import table
    from ranklet.runtime.console import suggested

    report = Path(options.html or f"{Path(options.output)}.html")
    if options.html or report.absolute().parent.is_dir():
        check_page(report, force=options.force)  # before an hour of learning
    learned = learn(
        options.bundle,
        options.judged,
        options.output,
        minutes=options.minutes,
        max_ms=options.max_ms,
        max_mb=options.max_mb,
        network=not options.no_network,
        measure=options.measure,
        model=options.model,
        overwrite=options.force,
    )
    show(table(learned))
    write_page(report, page(learned))
    if learned.target is None:
        say(f"nothing was written; report → {report}")
        return NOTHING_GAINED
    say(f"the kept pipeline → {options.output}; report → {report}")
    say(f"try: {suggested('rank', learned.target, 'your query')}")
    return 0
