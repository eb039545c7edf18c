"""Check every byte and every number of a bundle against the format."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")


def run(options: argparse.Namespace) -> None:
    """Check the bundle and print every part that is correct."""
    from ranklet.runtime.storage.address import shown
    from ranklet.runtime.verification import verify

    for checked in verify(options.bundle):
        print(f"ok  {checked}")
    print(f"{shown(options.bundle)} is valid")
