"""Analyse and encode a collection in shards on a cluster, and join what comes back.

A node analyses the texts of its shards, and encodes them by the models that do so.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranklet.corpus.building.document_encoding import ENCODING
from ranklet.corpus.building.folder import Needs, list_needs, write_indexed
from ranklet.corpus.building.indexer import indexer
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.distributed.cluster import Cluster, Task
from ranklet.corpus.distributed.shards import Shard, Shards
from ranklet.corpus.errors import ClusterError
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse, if_split
from ranklet.corpus.indexing.metadata import join_documents
from ranklet.corpus.indexing.parts import Part, join
from ranklet.corpus.indexing.reuse import analyse_again
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.progress import progress
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private


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
    bundles = index_shards(cluster, shards, rankers, folder, titles=titles)
    joined = join([Part(np.zeros(each.manifest.documents, np.int64), each) for each in bundles])
    first = joined.contents.first
    # The metadata of a shard may have other types than that of the collection.
    metadata = shards.metadata.fields(join_documents(if_split(first), len(first)))
    needs = list_needs(rankers)
    return analyse_again(*joined, titles=titles, words=words, metadata=metadata, **needs)


def index_shards(
    cluster: Cluster, shards: Iterable[bytes], rankers: BundleFiles, folder: Path, *, titles: bool
) -> list[BundleFiles]:
    """Return a bundle of each shard, in order; those that an earlier run has finished are kept."""
    folder = folder / "shards"
    make_private(folder)
    with tempfile.TemporaryDirectory() as scratch:
        encoders = write_encoders(rankers, Path(scratch) / "encoders.zip")
        settings = shard_settings(list_needs(rankers), rankers.device, titles=titles)
        base = _digest(BundleFiles(encoders), settings)
        paths = [
            folder / f"{hashlib.sha256(base + shard).hexdigest()[:32]}.zip" for shard in shards
        ]
        missing = [at for at, path in enumerate(paths) if _open_finished(path) is None]
        task = Task(open_indexer, settings, encoders)
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
        bundle = _open_finished(path)
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


def _open_finished(path: Path) -> BundleFiles | None:
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


def write_encoders(bundle: BundleFiles, target: Path) -> Path:
    """Write what shards need of a bundle: the models that encode documents, and its tokenizer.

    Args:
        bundle: a bundle with the rankers; nothing of its collection is written.
        target: a path that ends in .zip.
    """
    entries = {}
    with BundleWriter(target) as writer:
        for name, entry in bundle.manifest.rankers.items():
            own = indexer(entry.kind)
            if own.parts is not None:
                writer.copy(bundle, f"rankers/{name}/", leave_out=own.indexed)
                settings = {**entry.settings, **entry.replaced, **own.parts}
                entries[name] = replace(
                    entry, settings=settings, measured={}, replaced={}, encoder=""
                )
        if TOKENIZER in bundle.manifest.files:
            writer.data(TOKENIZER, bundle.file(TOKENIZER))
        return writer.finish(Manifest(rankers=entries))


def shard_settings(needs: Needs, device: str, *, titles: bool) -> dict[str, Any]:
    """Return the settings of `open_indexer`, as JSON has them."""
    return {
        "fields": sorted(needs["fields"]),
        "known_words": sorted(needs["known_words"]),
        "titles": titles,
        "device": device,
    }


def open_indexer(path: Path, settings: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    """Return what makes a zipped bundle of a shard.

    Words are analysed as English, and in a collection in another language they are not used.

    Args:
        path: what `write_encoders` wrote.
        settings: what `shard_settings` returned.
    """
    rankers = BundleFiles(path, device=settings["device"], strict=True, keep=True)
    tokenizer = rankers.tokenizer() if rankers.has(TOKENIZER) else None

    def index(text: bytes) -> bytes:
        shard = Shard.from_json(text)
        analysed = analyse(
            shard.passages(),
            settings["fields"],
            tokenizer=tokenizer,
            titles=settings["titles"],
            known_words=settings["known_words"],
        )
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "shard.zip"
            with BundleWriter(target) as writer:
                write_indexed(rankers, analysed, writer, shard.splitting, {})
            return target.read_bytes()

    return index
