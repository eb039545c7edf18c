"""Learn weights to fuse a bundle's rankers, by coordinate ascent."""

import argparse

from ranklet.commands.output import say
from ranklet.runtime.pipeline import FIXED, SCALINGS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle")
    parser.add_argument("collection", help="collection folder in BEIR form with judged queries")
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument(
        "--split",
        default="train[90%:]",
        help="queries to learn from, on which no ranker was trained",
    )
    parser.add_argument(
        "--max-queries", type=int, default=1000, help="maximum number of queries to learn from"
    )
    parser.add_argument(
        "--rankers",
        help="comma-separated rankers to fuse; rankers with an index retrieve, the others rescore "
        "(default: all)",
    )
    parser.add_argument(
        "--measure", default="MRR@10", help="measure to optimise, MRR@k, nDCG@k or R@k"
    )
    parser.add_argument(
        "--folds", type=int, default=0,
        help="with two rankers, choose α in α·first + (1 − α)·second by cross-validation over this "
        "many folds and print the held-out value",
    )  # fmt: skip
    parser.add_argument(
        "--scaling", choices=SCALINGS, default=FIXED,
        help="how scores of different rankers are made comparable: fixed uses a factor of each "
        "ranker, variance divides by the standard deviation over a query's candidates, minmax maps "
        "to 0 … 1 over them",
    )  # fmt: skip
    parser.add_argument("--name", default="linear", help="name of the new pipeline")
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")


def run(options: argparse.Namespace) -> None:
    """Learn the weights and write the bundle."""
    from ranklet.export.fusion import fuse_bundle
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.storage.address import on_disk
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.judgements import check_judgements
    from ranklet.training.data.splits import read_split

    documents = BundleFiles(on_disk(options.bundle)).need_documents()
    collection = Collection(options.collection)
    queries = read_split(collection, options.split, limit=options.max_queries)
    name = f"the bundle {options.bundle}"
    check_judgements(collection, [options.split], documents.lacking, name)
    learned = fuse_bundle(
        options.bundle,
        options.output,
        queries,
        rankers=options.rankers.split(",") if options.rankers else (),
        measure=options.measure,
        name=options.name,
        folds=options.folds,
        scaling=options.scaling,
        overwrite=options.force,
    )
    weights = ", ".join(f"{weight:.4f}" for weight in learned.weights)
    say(f"weights {weights}: {options.measure} {learned.value:.4f} → {options.output}")
