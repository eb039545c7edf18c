"""Learn the weights that fuse a bundle's rankers, by coordinate ascent."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle")
    parser.add_argument("collection", help="folder in BEIR form; its judged queries are learned on")
    parser.add_argument("-o", "--output", required=True, help="bundle to write: a folder or .zip")
    parser.add_argument(
        "--split",
        default="train[90%:]",
        help="queries that no ranker was trained on (default: %(default)s)",
    )
    parser.add_argument("--max-queries", type=int, default=1000, help="use at most so many")
    parser.add_argument("--rankers", help="comma-separated; who can retrieve does (default: all)")
    parser.add_argument("--measure", default="MRR@10", help="MRR@k, nDCG@k or R@k")
    parser.add_argument(
        "--folds", type=int, default=0,
        help="of two rankers: choose α in α·first + (1 − α)·second by cross-validation over so "
        "many folds, and tell the held-out value",
    )  # fmt: skip
    parser.add_argument("--name", default="linear", help="of the pipeline (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="replace a bundle that is there")


def run(options: argparse.Namespace) -> None:
    """Learn and write."""
    from ranklet.export.fusion import fuse_bundle
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.splits import read_split

    queries = read_split(Collection(options.collection), options.split, limit=options.max_queries)
    found = fuse_bundle(
        options.bundle,
        options.output,
        queries,
        rankers=options.rankers.split(",") if options.rankers else (),
        measure=options.measure,
        name=options.name,
        folds=options.folds,
        overwrite=options.force,
    )
    weights = ", ".join(f"{weight:.4f}" for weight in found.weights)
    print(f"weights {weights}: {options.measure} {found.value:.4f} → {options.output}")
