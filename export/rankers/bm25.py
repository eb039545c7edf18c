"""Export BM25 as its settings; index a collection as postings with precomputed impacts."""

from dataclasses import asdict

import numpy as np

from ranklet.corpus.indexing.impacts import in_fewer_bits
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob, IndexJob
from ranklet.export.writer import INDEX_FILES
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.bm25 import STATISTICS, BM25Settings

LATER = ("title_boost", "impacts")  # settings that are left out of a bundle at their defaults


def export(job: ExportJob) -> RankerEntry:
    """Write nothing, because BM25 is only its settings."""
    settings = asdict(job.settings)
    for later in LATER:  # readers from before they existed know no such setting
        if settings[later] == getattr(BM25Settings, later):
            del settings[later]
    return RankerEntry(job.checkpoint.kind, settings)


def index(job: IndexJob) -> RankerEntry:
    """Write the impact index of a collection."""
    settings: BM25Settings = job.settings
    postings = job.analysed.bm25_postings(settings)
    exact = postings.bm25(settings.k1, settings.b)
    job.writer.index(job.folder, in_fewer_bits(exact, settings.impacts))
    job.writer.array(job.folder + STATISTICS, np.array([postings.average_length], np.float64))
    return job.entry


EXPORTER = Exporter(export, index, indexed=(*INDEX_FILES, STATISTICS), settings=LATER)
