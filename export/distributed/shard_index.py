"""Index shards on a node: analyse their texts, and encode them by the models that do so."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranklet.export.distributed.shards import Shard
from ranklet.export.exporter import exporter
from ranklet.export.indexing.writing import Needs, write_indexed
from ranklet.export.writer import BundleWriter
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.bundles.manifest import Manifest
from ranklet.training.indexing.analysed import analyse


def write_encoders(bundle: BundleFiles, target: Path) -> Path:
    """Write what shards need of a bundle: the models that encode documents, and its tokenizer.

    Args:
        bundle: a bundle with the rankers; nothing of its collection is written.
        target: a path that ends in .zip.
    """
    entries = {}
    with BundleWriter(target) as writer:
        for name, entry in bundle.manifest.rankers.items():
            own = exporter(entry.kind)
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
