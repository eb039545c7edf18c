"""Pack checkpoints into a bundle of rankers."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "checkpoints",
        nargs="+",
        metavar="[NAME=]CHECKPOINT",
        help="checkpoint folder, and the ranker's name in the bundle (the folder's, unless given); "
        "the first retriever named is the default one",
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write: a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace a bundle that is there")


def run(options: argparse.Namespace) -> None:
    """Export."""
    from ranklet.export.exporting import export_bundle
    from ranklet.runtime.errors import InputError
    from ranklet.training.checkpoint import read_checkpoint

    checkpoints = {}
    for given in options.checkpoints:
        name, _, path = given.partition("=")
        if not path or Path(given).exists():  # no name, or a path that holds a "="
            name, path = Path(given).resolve().name, given
        if name in checkpoints:
            raise InputError(f"two rankers are named {name!r}; name them: NAME=CHECKPOINT")
        checkpoints[name] = read_checkpoint(path)
    target = export_bundle(checkpoints, options.output, overwrite=options.force)
    print(f"{', '.join(checkpoints)} → {target}")
