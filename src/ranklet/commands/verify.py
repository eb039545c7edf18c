"""Check every byte and every number of a bundle against the format."""

import argparse

from ranklet.commands.output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")


def run(options: argparse.Namespace) -> None:
    """Check the bundle and print every part that is correct."""
    from ranklet.runtime.storage.address import shown
    from ranklet.runtime.verification import verify

    for checked in verify(options.bundle):
        say(f"ok  {checked}")
    say(f"{shown(options.bundle)} is valid")
