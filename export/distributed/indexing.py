"""Analyse and encode a collection in shards on a cluster, and join what comes back."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ranklet.export.distributed.cluster import Cluster, Task
from ranklet.export.distributed.shard_index import open_indexer, shard_settings, write_encoders
from ranklet.export.distributed.shards import Shards
from ranklet.export.document_encoding import ENCODING
from ranklet.export.errors import ClusterError
from ranklet.export.indexing.joined import joined
from ranklet.export.indexing.writing import needs_of
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import BundleError
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.language.options import TextOptions
from ranklet.training.indexing.metadata import of_whole_documents
from ranklet.training.indexing.origins import Origins, joined_strings
from ranklet.training.indexing.reuse import Contents
from ranklet.training.progress import progress


def analysed_on(
    cluster: Cluster,
    shards: Shards,
    rankers: BundleFiles,
    folder: Path,
    *,
    titles: bool,
    words: TextOptions,
) -> AnalysedCollection:
    """Return the analysis of a collection, with the shards that have encoded its documents.

    Args:
        cluster: where the shards are indexed.
        shards: the collection's shards.
        rankers: the rankers for which it is indexed.
        folder: keeps finished shards until the bundle is written.
        titles: whether titles are ranked.
        words: the language, and what the forms of a word have in common.
    """
    bundles = indexed_shards(cluster, shards, rankers, folder, titles=titles)
    stored = [each.need_documents() for each in bundles]
    sizes = [len(each) for each in stored]
    part = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.cumsum(sizes) - sizes
    number = (np.arange(len(part)) - begins[part]).astype(np.int64)
    origins = Origins.of(bundles, part, number)
    first = np.concatenate(
        [_first(each) + begin for each, begin in zip(stored, begins.tolist(), strict=True)]
    ).astype(np.uint32)
    contents = Contents(
        joined_strings(origins, [each.ids for each in stored]),
        joined_strings(origins, [each.titles for each in stored]),
        joined_strings(origins, [each.texts for each in stored]),
        first,
        (),  # the metadata of a shard may have other types than that of the collection
    )
    analysed = joined(contents, origins, needs_of(rankers), titles=titles, words=words)
    places = of_whole_documents(analysed.documents.first, len(analysed.documents))
    return replace(analysed, metadata=shards.metadata.fields(places))


def _first(documents: Documents) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the number of the first passage of each passage's document, (documents,) int64."""
    numbers = np.arange(len(documents))
    return numbers if documents.first is None else documents.first.astype(np.int64)


def indexed_shards(
    cluster: Cluster, shards: Iterable[bytes], rankers: BundleFiles, folder: Path, *, titles: bool
) -> list[BundleFiles]:
    """Return a bundle of each shard, in order; those that an earlier run has finished are kept."""
    folder = folder / "shards"
    make_private(folder)
    with tempfile.TemporaryDirectory() as scratch:
        encoders = write_encoders(rankers, Path(scratch) / "encoders.zip")
        settings = shard_settings(needs_of(rankers), rankers.device, titles=titles)
        base = _digest(BundleFiles(encoders), settings)
        paths = [
            folder / f"{hashlib.sha256(base + shard).hexdigest()[:32]}.zip" for shard in shards
        ]
        missing = [at for at, path in enumerate(paths) if _opened(path) is None]
        task = Task(open_indexer, settings, encoders, ordered=False)
        lacking = set(missing)
        wanted = (shard for at, shard in enumerate(shards) if at in lacking)
        for at, made in progress(cluster.each(task, wanted), ENCODING, len(missing)):
            _write(paths[missing[at]], made)
    return list(_all_opened(paths))


def _all_opened(paths: Sequence[Path]) -> Iterator[BundleFiles]:
    """Yield the bundles of all shards.

    Raises:
        ClusterError: a node ran other variants of the models than another one.
    """
    encoders: dict[str, str] = {}
    for path in paths:
        bundle = _opened(path)
        if bundle is None:
            raise ClusterError(f"the shard {str(path)!r} is damaged; start the command again")
        for name, entry in bundle.manifest.rankers.items():
            if encoders.setdefault(name, entry.encoder) != entry.encoder:
                raise ClusterError(
                    f"the nodes of the cluster ran different variants of {name!r}; install the "
                    "same packages on all of them"
                )
        yield bundle


def _digest(encoders: BundleFiles, settings: object) -> bytes:
    """Return a text that changes whenever the bundle of a shard would."""
    manifest = encoders.manifest
    files = {path: entry.sha256 for path, entry in manifest.files.items()}
    entries = {name: entry.to_json() for name, entry in manifest.rankers.items()}
    described = json.dumps([manifest.ranklet_version, files, entries, settings])
    return hashlib.sha256(described.encode()).digest()


def _opened(path: Path) -> BundleFiles | None:
    """Return the bundle of a finished shard; None if there is none or it is incomplete."""
    if not path.is_file():
        return None
    try:
        return BundleFiles(path, check="full")
    except BundleError:
        return None


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)
