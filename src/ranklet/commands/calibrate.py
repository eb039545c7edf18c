"""Teach a bundle by judged queries how likely its hits answer a query.

`rank --relevance` then says it of each hit, and `--min-relevance` leaves out hits that are less
likely. Fifty judged queries are needed, and a hundred are enough. Those without a relevant document
count, too. Half of the queries are taken to have no answer, because people ask much that no text
has.
"""

import argparse

from ranklet.commands.arguments import add_judged
from ranklet.commands.output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_judged(parser)
    parser.add_argument("--pipeline", help="whose scores are read; the default is the bundle's")
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")


def run(options: argparse.Namespace) -> None:
    """Calibrate the bundle."""
    from ranklet.workflows.learn.calibrate import calibrate

    found = calibrate(
        options.bundle, options.judged, options.output, pipeline=options.pipeline,
        overwrite=options.force,
    )  # fmt: skip
    say(str(found), f"→ {options.output}")
