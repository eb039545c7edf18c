"""Add documents to a bundle's rankers and write a bundle that ranks them."""

import argparse
from typing import TYPE_CHECKING

from ranklet.commands.arguments import add_engine, add_group, engine_from, options_from
from ranklet.corpus.building.default_fusion import FusionOptions
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.sources.options import WHOLE
from ranklet.runtime.ground.errors import InputError

if TYPE_CHECKING:
    from ranklet.corpus.distributed.shards import Documents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle from `ranklet export`, or an indexed one")
    parser.add_argument(
        "source", metavar="SOURCE", help="collection folder, or any file or folder of texts"
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--no-titles", action="store_true", help="do not rank the titles of documents"
    )
    parser.add_argument(
        "--query-log", metavar="SPLIT",
        help="split of the collection, each of whose queries is added to the texts it led to; "
        "do not evaluate on it",
    )  # fmt: skip
    add_group(parser, WHOLE)
    as_trained = "Without them, words are read as the bundle's rankers were trained."
    add_group(parser, TextOptions(), as_trained)
    add_group(parser, FusionOptions())
    add_engine(parser)


def run(options: argparse.Namespace) -> None:
    """Index the collection."""
    from ranklet.corpus.building.document_encoding import ENCODING
    from ranklet.corpus.building.folder import INDEXING
    from ranklet.corpus.collections.collection import Collection, is_collection
    from ranklet.corpus.index import index_bundle, list_words
    from ranklet.corpus.indexing.analysed import ANALYSING
    from ranklet.corpus.judgements.query_log import LoggedCollection
    from ranklet.corpus.progress import one_bar, say
    from ranklet.corpus.sources.source import FINDING, Source
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.bundles.manifest import in_words
    from ranklet.runtime.storage.address import on_disk

    chosen = options_from(WHOLE, vars(options))
    whole = chosen == WHOLE and is_collection(options.source)
    if options.query_log and not whole:
        raise InputError(
            "--query-log needs a collection folder in BEIR form, whose documents stay whole; "
            f"{options.source!r} is none, or is read with other options"
        )
    collection: Documents
    if options.query_log:
        collection = LoggedCollection(options.source, options.query_log)
    else:
        collection = Collection(options.source) if whole else Source(options.source, chosen, say)
    with one_bar((FINDING, 0.01), (ANALYSING, 0.1), (INDEXING, 0.1), (ENCODING, 1.0)):
        bundle = index_bundle(
            options.bundle,
            collection,
            options.output,
            titles=not options.no_titles,
            words=options_from(
                TextOptions()
                if getattr(options, "forms", None)
                else list_words(BundleFiles(on_disk(options.bundle)).manifest),
                vars(options),
            ),
            overwrite=options.force,
            engine=engine_from(options),
            fusion=options_from(FusionOptions(), vars(options)),
        )
    say(f"{bundle.size} → {options.output}")
    if bundle.metadata:
        say(f"metadata: {in_words(bundle.metadata)}")
