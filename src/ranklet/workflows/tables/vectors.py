"""Write a bundle whose queries are encoded by tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.progress import say
from ranklet.export.errors import ExportError
from ranklet.export.exporter import exporter
from ranklet.export.query_side import REPORT, Learned, QueryTables
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.storage.address import BundleLike
from ranklet.workflows.tables.learning import learn_table


def make_tables(bundle: BundleFiles, name: str) -> QueryTables:
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
    texts: Sequence[str],
    minutes: float,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a bundle of rankers whose encoders read queries by a table; the rest is the same.

    Args:
        path: the bundle of rankers.
        target: a folder, or a path that ends in .zip.
        texts: short texts from which tables learn, beside random words; the first ones are used.
        minutes: that each may take.
        overwrite: whether an existing bundle is replaced.

    Raises:
        ExportError: no ranker has a network that a table can replace.
    """
    source, made = BundleFiles(path), dict[str, Learned]()
    entries = source.manifest.rankers
    able = [
        name
        for name, entry in entries.items()
        if exporter(entry.kind).tables and not source.settings(name).given
    ]
    if not able:
        make_tables(source, [*entries][-1])  # which says what is needed
    for name in able:
        tables = make_tables(source, name)
        if not tables.encodes(source.settings(name)):
            made[name] = learn_table(tables.teacher(source, name), texts, minutes)
            say(f"{name}: {made[name]}")
    return write_tables(source, target, made, overwrite=overwrite)


def write_tables(
    source: BundleFiles, target: BundleLike, made: Mapping[str, Learned], *, overwrite: bool = False
) -> Path:
    """Write a bundle with tables in its rankers, by name; the rest is the same."""
    manifest, rankers = source.manifest, dict(source.manifest.rankers)
    trainings: dict[str, Any] = dict(manifest.provenance["checkpoints"])
    with BundleWriter(target, overwrite=overwrite) as writer:
        for name, each in made.items():
            rankers[name] = make_tables(source, name).write(writer, source, name, each)
            trainings[name] = {**trainings[name], REPORT: str(each)}
        written = tuple(f"rankers/{name}/" for name in made)
        for file in manifest.files:
            if not file.startswith(written):
                writer.data(file, source.file(file))
        provenance = {**manifest.provenance, "checkpoints": trainings}
        return writer.finish(replace(manifest, rankers=rankers, provenance=provenance))
