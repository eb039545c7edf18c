"""Export BM25 as its settings; index a collection as postings with precomputed impacts."""

from dataclasses import asdict

import numpy as np

from ranklet.export.options import ExportOptions
from ranklet.export.rankers import Exporter
from ranklet.export.writer import INDEX_FILES, BundleWriter
from ranklet.runtime.rankers.bm25 import STATISTICS, BM25Settings
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.indexing.analysed import AnalysedCollection


def export(
    checkpoint: Checkpoint,
    name: str,  # noqa: ARG001
    writer: BundleWriter,  # noqa: ARG001
    options: ExportOptions,  # noqa: ARG001
) -> RankerEntry:
    """Write nothing, because BM25 is only its settings."""
    settings = asdict(checkpoint.settings)
    if settings["title_boost"] == 1:  # readers from before it existed know no such setting
        del settings["title_boost"]
    return RankerEntry(checkpoint.kind, settings)


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the impact index of a collection."""
    entry = source.manifest.rankers[name]
    settings: BM25Settings = source.settings(name)
    postings = analysed.bm25_postings(settings)
    folder = f"rankers/{name}/"
    writer.index(folder, postings.bm25(settings.k1, settings.b))
    writer.array(folder + STATISTICS, np.array([postings.average_length], np.float64))
    return entry


EXPORTER = Exporter(export, index, indexed=(*INDEX_FILES, STATISTICS), settings=("title_boost",))
