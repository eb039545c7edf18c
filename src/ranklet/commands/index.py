"""Add a collection to a bundle's rankers and write a bundle that ranks it."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle from `ranklet export`, or an indexed one")
    parser.add_argument(
        "collection", help="collection folder in BEIR form, whose corpus is indexed"
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--no-titles", action="store_true", help="do not rank the titles of documents"
    )


def run(options: argparse.Namespace) -> None:
    """Index the collection."""
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
