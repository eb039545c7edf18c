"""Learn weights to fuse a bundle's rankers, by coordinate ascent.

The exit status is 3 if the bundle was written, but its gain is not sure. The gain is that over the
bundle's default pipeline, by weights that were learned on other queries (five folds).
"""

import argparse

from ranklet.commands.arguments import names_of
from ranklet.commands.output import say
from ranklet.runtime.pipeline import FIXED, SCALINGS

FELL_SHORT = 3  # exit status


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


def run(options: argparse.Namespace) -> int:
    """Learn the weights, write the bundle and say what that gained; return the exit status."""
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.collections.splits import read_split
    from ranklet.corpus.judgements.judgements import check_judgements
    from ranklet.corpus.progress import warn
    from ranklet.export.fusion import fuse_bundle
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.storage.address import on_disk

    files = BundleFiles(on_disk(options.bundle))
    documents = files.need_documents()
    collection = Collection(options.collection, documents=False)  # the bundle has them
    queries = read_split(collection, options.split, limit=options.max_queries)
    name = f"the bundle {options.bundle}"
    check_judgements(collection, [options.split], documents.lacking, name)
    names = names_of(options.rankers) if options.rankers else tuple(files.manifest.rankers)
    learned = fuse_bundle(
        options.bundle,
        options.output,
        queries,
        rankers=names,
        measure=options.measure,
        name=options.name,
        folds=options.folds,
        scaling=options.scaling,
        overwrite=options.force,
    )
    pairs = zip(names, learned.weights, strict=True)
    weights = ", ".join(f"{name} {weight:.4f}" for name, weight in pairs)
    say(f"weights {weights}: {options.measure} {learned.value:.4f} → {options.output}")
    gain, before = learned.gain, float(learned.before.mean())
    say(
        f"{options.measure} of {learned.default!r} before: {before:.4f}; gain on queries that the "
        f"weights did not learn from: {gain} (95 %), {len(queries):,} queries"
    )
    if gain.low > 0:
        return 0
    warn(
        "the gain is not sure, because its interval includes 0; learn from more queries "
        f"(--max-queries), or keep {options.bundle}"
    )
    return FELL_SHORT
