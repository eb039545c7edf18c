"""Write a bundle whose queries are encoded by tables."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.progress import say
from ranklet.export.errors import ExportError
from ranklet.export.exporter import exporter
from ranklet.export.query_side import REPORT, QueryTables
from ranklet.export.query_tables.learning import learned_table
from ranklet.export.query_tables.texts import short_texts
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.storage.address import BundleLike


def tables_of(bundle: BundleFiles, name: str) -> QueryTables:
    """Return how a table encodes the queries of a bundle's ranker.

    Raises:
        ExportError: none can.
    """
    kind = bundle.manifest.rankers[name].kind
    if (tables := exporter(kind).tables) is None:
        raise ExportError(
            f"{name!r} is a {kind}; a table encodes the queries of models that make one vector of "
            "a text, so give such a model, or leave the table out"
        )
    return tables


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
    source = BundleFiles(path)
    manifest, rankers = source.manifest, dict(source.manifest.rankers)
    able = [name for name, entry in rankers.items() if exporter(entry.kind).tables]
    if not able:
        tables_of(source, [*rankers][-1])  # which says what is needed
    texts = short_texts(titled)
    trainings: dict[str, Any] = dict(manifest.provenance["checkpoints"])
    with BundleWriter(target, overwrite=overwrite) as writer:
        written = list[str]()
        for name in able:
            tables = tables_of(source, name)
            if tables.encodes(source.settings(name)):
                continue
            made = learned_table(tables.teacher(source, name), texts, minutes)
            rankers[name] = tables.write(writer, source, name, made)
            say(f"{name}: {made}")
            trainings[name] = {**trainings[name], REPORT: str(made)}
            written.append(f"rankers/{name}/")
        for file in source.manifest.files:
            if not file.startswith(tuple(written)):
                writer.data(file, source.file(file))
        provenance = {**manifest.provenance, "checkpoints": trainings}
        return writer.finish(replace(manifest, rankers=rankers, provenance=provenance))
