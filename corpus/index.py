"""Index a collection for the rankers of a bundle."""

import logging
from collections.abc import Mapping
from pathlib import Path

from ranklet.corpus.building.default_fusion import FUSION, FusionOptions
from ranklet.corpus.building.folder import list_needs, write_indexed
from ranklet.corpus.building.packages import check_packages
from ranklet.corpus.building.writer import BundleWriter, check_source
from ranklet.corpus.distributed.cluster import connected
from ranklet.corpus.distributed.indexing import analysed_on
from ranklet.corpus.distributed.options import LOCAL, EngineOptions
from ranklet.corpus.distributed.shards import Documents, Shards
from ranklet.corpus.errors import BuildError
from ranklet.corpus.indexing.analysed import analyse
from ranklet.corpus.indexing.searched import check_columns
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import check_type
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import BundleLike

_log = logging.getLogger(__name__)


@hint_packages()
def index_bundle(
    source: BundleLike,
    collection: Documents,
    target: str | Path,
    *,
    titles: bool = True,
    words: TextOptions | None = None,
    overwrite: bool = False,
    engine: EngineOptions = LOCAL,
    fusion: FusionOptions = FUSION,
) -> Bundle:
    """Add a collection to a bundle's rankers: documents, tokens and every ranker's index.

    Args:
        source: a bundle on disk; its collection, if it has one, is replaced.
        collection: the documents. Successive ones with one id are passages of one document.
        target: a folder, or a path that ends in .zip.
        titles: whether titles are part of the text that is ranked.
        words: the language of the texts, and what the forms of a word have in common; None for what
            the bundle says, which is how its rankers were trained.
        overwrite: whether an existing bundle is replaced.
        engine: where documents are analysed and encoded, on this machine or on several by Ray.
        fusion: how the lists of several rankers become one, unless the bundle has learned it.

    Returns:
        The bundle, which is open.

    Raises:
        BundleError: the source cannot be read.
        CollectionError: the collection cannot be read or is empty.
        BuildError: the target exists, or the source has no ranker.
        ClusterError: the cluster cannot be used.
    """
    check_source(source, target)
    check_type("fusion", fusion, FusionOptions)
    if not hasattr(collection, "documents"):
        raise InputError(
            f"collection must be a Collection or a Source, not {type(collection).__name__}; give "
            "Source(PATH), or Collection(PATH) for a folder in BEIR form"
        )
    with BundleWriter(target, overwrite=overwrite) as writer, connected(engine) as cluster:
        bundle = engine.opened(source)
        rankers = bundle.manifest.rankers
        if not rankers:
            raise BuildError(f"the bundle {str(source)!r} has no ranker to index for")
        warn_if_none_retrieves(rankers)
        words = words or list_words(bundle.manifest)
        check_type("words", words, TextOptions)
        if cluster is None:
            check_packages(bundle.manifest)
            analysed = analyse(
                collection.documents(),
                titles=titles,
                keep_metadata=True,
                options=words,
                when_read=writer.compress_early,
                **list_needs(bundle),
            )
        else:
            given = Shards(collection)
            folder = writer.resume_folder
            analysed = analysed_on(cluster, given, bundle, folder, titles=titles, words=words)
        check_columns(analysed.metadata, list_needs(bundle)["columns"])
        provenance = {"collection": {"name": collection.name, "titles": titles}}
        write_indexed(
            bundle, analysed, writer, collection.splitting, provenance, fusion, collection.types
        )
    return load(Path(target))


def list_words(manifest: Manifest) -> TextOptions:
    """Return how the words of a collection are read for a bundle, unless others are chosen."""
    return TextOptions.of(manifest.languages, manifest.normaliser)


def warn_if_none_retrieves(rankers: Mapping[str, RankerEntry]) -> None:
    """Log a warning if a bundle can rank only texts of its caller."""
    if not any(KINDS[entry.kind].retrieves for entry in rankers.values()):
        _log.warning(
            "%s cannot retrieve, so the bundle ranks only texts of the caller; export also a "
            "ranker with an index, such as BM25",
            ", ".join(rankers),
        )
