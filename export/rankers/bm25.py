"""Export BM25 as its settings; index a collection as postings with precomputed impacts."""

from dataclasses import asdict

import numpy as np

from ranklet.export.exporter import Exporter
from ranklet.export.options import ExportOptions
from ranklet.export.writer import INDEX_FILES, BundleWriter
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.bm25 import STATISTICS, BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.impacts import in_fewer_bits

LATER = ("title_boost", "impacts")  # settings that are left out of a bundle at their defaults


def export(
    checkpoint: Checkpoint,
    name: str,  # noqa: ARG001
    writer: BundleWriter,  # noqa: ARG001
    options: ExportOptions,  # noqa: ARG001
) -> RankerEntry:
    """Write nothing, because BM25 is only its settings."""
    settings = asdict(checkpoint.settings)
    for later in LATER:  # readers from before they existed know no such setting
        if settings[later] == getattr(BM25Settings, later):
            del settings[later]
    return RankerEntry(checkpoint.kind, settings)


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the impact index of a collection."""
    entry = source.manifest.rankers[name]
    settings: BM25Settings = source.settings(name)
    postings = analysed.bm25_postings(settings)
    folder = f"rankers/{name}/"
    exact = postings.bm25(settings.k1, settings.b)
    writer.index(folder, in_fewer_bits(exact, settings.impacts))
    writer.array(folder + STATISTICS, np.array([postings.average_length], np.float64))
    return entry


EXPORTER = Exporter(export, index, indexed=(*INDEX_FILES, STATISTICS), settings=LATER)
