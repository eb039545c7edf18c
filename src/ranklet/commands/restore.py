"""Bring back the documents of an earlier version of a bundle, as its newest version.

`ranklet log` lists the versions. Those since stay, so that this can be undone.
"""

import argparse

from ranklet.commands.output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle, a folder or .zip")
    parser.add_argument("version", type=int, help="number of the version")


def run(options: argparse.Namespace) -> None:
    """Restore the version."""
    from ranklet.corpus.updating.writable import WritableBundle

    bundle = WritableBundle(options.bundle).restore(options.version)
    say(f"version {options.version:,} with {bundle.size} → {options.bundle}")
