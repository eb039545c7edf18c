"""Give a bundle a file of synonyms, or print those that it has."""

import argparse
from pathlib import Path

from ranklet.commands.output import say, show

EXAMPLE = """a file:
  # a group, a rule, a weight
  car, auto, automobile
  ny => new york, big apple
  notebook, laptop, computer * .5
  # for a query: documents that come first, or that are left out
  pin: new notebook, laptop => A-1, A-2
  hide: notebook => B-7
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder or .zip; to print, also an address")
    parser.add_argument("file", nargs="?", type=Path, help="a line per group or rule, in UTF-8")


def run(options: argparse.Namespace) -> None:
    """Copy the file beside the bundle, or print what is there."""
    from ranklet.corpus.building.synonyms import write_synonyms
    from ranklet.runtime import load
    from ranklet.runtime.bundles.files import locate_synonyms
    from ranklet.runtime.bundles.synonyms import read_synonyms

    bundle = load(options.bundle)
    if options.file is None:
        text = read_synonyms(bundle.files)
        show(text.rstrip() or f"no synonyms; {str(locate_synonyms(bundle.path))!r} would have them")
        return
    say(f"{write_synonyms(bundle, options.file)} → {locate_synonyms(bundle.path)}")
