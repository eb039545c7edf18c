"""Write a bundle whose queries are encoded by tables."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.progress import say
from ranklet.export.errors import ExportError
from ranklet.export.query_tables.learning import learned_table, teacher_of
from ranklet.export.query_tables.stored import TABLE, arrays_of, described
from ranklet.export.query_tables.texts import short_texts
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.query_table import QUERIES
from ranklet.runtime.rankers.dense import NETWORKS, QUERY_TABLE, DenseSettings
from ranklet.runtime.storage.address import BundleLike


def with_query_tables(
    path: BundleLike,
    target: BundleLike,
    titled: Iterable[tuple[str, str]],
    minutes: float,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a bundle of rankers whose encoders read queries by a table; the rest is the same.

    Args:
        path: the bundle of rankers.
        target: a folder, or a path that ends in .zip.
        titled: titles and texts from which tables learn, beside random words.
        minutes: that each may take.
        overwrite: whether an existing bundle is replaced.

    Raises:
        ExportError: no ranker has a network that a table can replace.
    """
    source, texts = BundleFiles(path), short_texts(titled)
    manifest, rankers = source.manifest, dict(source.manifest.rankers)
    encoders = [name for name, entry in rankers.items() if entry.kind == "dense"]
    names = [name for name in encoders if source.settings(name).encoder != QUERY_TABLE]
    if not encoders:
        raise ExportError(
            "no model makes one vector of a text, so no table can encode queries; give a sentence "
            "encoder, or leave --queries out"
        )
    trainings: dict[str, Any] = dict(manifest.provenance["checkpoints"])
    with BundleWriter(target, overwrite=overwrite) as writer:
        for name in names:
            teacher = teacher_of(source, name)
            made = learned_table(teacher, texts, minutes)
            settings: DenseSettings = source.settings(name)
            folder = f"rankers/{name}/{QUERIES}"
            for file, values in arrays_of(made).items():
                writer.array(folder + file, values)
            if settings.encoder == NETWORKS:
                writer.data(folder + TOKENIZER, source.file(folder + TOKENIZER))
            say(f"{name}: {described(made)}")
            trainings[name] = {**trainings[name], TABLE: described(made)}
            own = replace(settings, encoder=QUERY_TABLE)
            rankers[name] = replace(rankers[name], settings=asdict(own))
        replaced = tuple(f"rankers/{name}/{QUERIES}" for name in names)
        for file in source.manifest.files:
            if not file.startswith(replaced):
                writer.data(file, source.file(file))
        provenance = {**manifest.provenance, "checkpoints": trainings}
        return writer.finish(replace(manifest, rankers=rankers, provenance=provenance))
