"""Join a bundle with what was added to it.

What `ranklet update --live`, a program or a server adds to a bundle lies beside it until it is
joined with it. The result is the same as if all documents were indexed again, byte for byte.
Readers go on meanwhile.
"""

import argparse

from ranklet.commands.output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle, which is replaced in one step at the end")
    parser.add_argument(
        "--keep",
        type=int,
        metavar="N",
        help="keep N earlier versions, each with the whole bundle that it needs, also when it is "
        "joined again (default: as the last time, at first 0)",
    )


def run(options: argparse.Namespace) -> None:
    """Join the bundle with its additions."""
    from ranklet.corpus.building.document_encoding import ENCODING
    from ranklet.corpus.building.folder import INDEXING
    from ranklet.corpus.progress import one_bar
    from ranklet.corpus.updating.compact import compact

    with one_bar((INDEXING, 0.5), (ENCODING, 1.0)):
        bundle = compact(options.bundle, keep=options.keep)
    say(f"{bundle.size} → {options.bundle}")
