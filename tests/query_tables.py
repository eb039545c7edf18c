"""A tiny bundle whose queries are encoded by a table, made once per test run."""

import shutil
from pathlib import Path
from unittest.mock import patch

from tests.kinds import FP32, TinyRankers

from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.workflows.tables import learning
from ranklet.workflows.tables.texts import short_texts
from ranklet.workflows.tables.vectors import with_query_tables

MINUTES = 0.01


def rankers_with_network(tiny: TinyRankers) -> Path:
    """Return a bundle of BM25 and an encoder with cosines, without a collection."""

    def export(folder: Path) -> None:
        dense = tiny.checkpoint("dense", similarity="cosine")
        export_bundle({"bm25": tiny.checkpoint("bm25"), "dense": dense}, folder / "b", FP32)

    return tiny.once("cosine", export) / "b"


def rankers_with_table(tiny: TinyRankers) -> Path:
    """Return the same with a table of queries."""

    def learn(folder: Path) -> None:
        titled = [(each.title, each.text) for each in tiny.data.collection.documents()]
        with patch.object(learning, "LEAST", 400):
            with_query_tables(
                rankers_with_network(tiny), folder / "b", short_texts(titled), MINUTES
            )

    return tiny.once("query_table", learn) / "b"


def indexed_with_table(tiny: TinyRankers) -> Path:
    """Return the same with the tiny collection."""

    def index(folder: Path) -> None:
        index_bundle(rankers_with_table(tiny), tiny.data.collection, folder / "b")

    return tiny.once("query_table.indexed", index) / "b"


def copied(bundle: Path, folder: Path) -> Path:
    """Return a copy of a bundle, which a test may change."""
    return Path(shutil.copytree(bundle, folder / "b"))
