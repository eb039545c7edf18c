"""Learn the best search of a bundle's documents from judged queries.

Rankers are learned as far as the time allows, chosen on queries that they did not learn from, and
reported on others, once. Weights of rankers that learned nothing are proven on all queries, by
cross-validation. If the 95 % interval of the gain is not above 0, nothing is written, and the exit
status is 3.
"""

import argparse

from ranklet.commands.arguments import add_judged, add_options, options_from
from ranklet.commands.output import say, show
from ranklet.workflows.learn.options import LEARN

NOTHING_GAINED = 3  # exit status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_judged(parser)
    add_options(lambda _: parser, LEARN)
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "" if "lexical" in options or "training" in options else "train"


def run(options: argparse.Namespace) -> int:
    """Learn, write the bundle and print what was gained; return the exit status."""
    from ranklet.runtime.answers.console import suggest_command
    from ranklet.workflows.learn.learn import learn
    from ranklet.workflows.learn.result import table

    chosen = options_from(LEARN, vars(options))
    learned = learn(options.bundle, options.judged, options.output, chosen, overwrite=options.force)
    show(table(learned))
    if learned.target is None:
        say("nothing was written")
        return NOTHING_GAINED
    say(f"the kept pipeline → {options.output}")
    say(f"try: {suggest_command('rank', learned.target, 'your query')}")
    return 0
