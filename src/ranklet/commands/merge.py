"""Join bundles that have the same rankers into one with the documents of all.

The result is the same as if all documents had been indexed at once, byte for byte. Nothing is
encoded again. Pipelines are those of the first bundle.
"""

import argparse

from ranklet.commands.output import say
from ranklet.corpus.updating.merge import PREFER, merge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundles", nargs="+", metavar="BUNDLE", help="two indexed bundles or more")
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument(
        "--prefer", choices=PREFER, default="none",
        help="which bundle a document is taken from that several have; none refuses that",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")


def run(options: argparse.Namespace) -> None:
    """Merge the bundles."""
    from ranklet.corpus.building.document_encoding import ENCODING
    from ranklet.corpus.building.folder import INDEXING
    from ranklet.corpus.progress import one_bar

    with one_bar((INDEXING, 0.5), (ENCODING, 1.0)):
        merged = merge(
            options.bundles, options.output, prefer=options.prefer, overwrite=options.force
        )
    say(f"{merged.size} → {options.output}")
