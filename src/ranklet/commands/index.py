"""Add a collection to a bundle's rankers and write a bundle that ranks it."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle that `ranklet export` wrote, or an indexed one")
    parser.add_argument("collection", help="folder in BEIR form; its corpus is indexed")
    parser.add_argument("-o", "--output", required=True, help="bundle to write: a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace a bundle that is there")
    parser.add_argument(
        "--no-titles", action="store_true", help="leave titles out of the text that is ranked"
    )


def run(options: argparse.Namespace) -> None:
    """Index."""
    from ranklet.export.bundles import index_bundle
    from ranklet.runtime import load
    from ranklet.training.data.collection import Collection

    target = index_bundle(
        options.bundle,
        Collection(options.collection),
        options.output,
        titles=not options.no_titles,
        overwrite=options.force,
    )
    print(f"{len(load(target)):,} documents → {target}")
