"""Export BM25 as its settings; index a collection as postings with precomputed impacts."""

from dataclasses import asdict

from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.bm25 import BM25Settings

LATER = ("title_boost", "impacts")  # settings that are left out of a bundle at their defaults


def export(job: ExportJob) -> RankerEntry:
    """Write nothing, because BM25 is only its settings."""
    settings = asdict(job.settings)
    for later in LATER:  # readers from before they existed know no such setting
        if settings[later] == getattr(BM25Settings, later):
            del settings[later]
    return RankerEntry(job.checkpoint.kind, settings)


EXPORTER = Exporter(export, settings=LATER)
