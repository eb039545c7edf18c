"""Export BM25, which is only its settings."""

from dataclasses import asdict

from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.bm25 import BM25Settings

CHANGEABLE = ("title_boost", "impacts")  # settings that an export may change
UNSTATED = (*CHANGEABLE, "fields")  # settings that a manifest does not state at their defaults


def export(job: ExportJob) -> RankerEntry:
    """Write nothing, because BM25 is only its settings."""
    usual = [
        name for name in UNSTATED if getattr(job.settings, name) == getattr(BM25Settings, name)
    ]
    settings = {name: each for name, each in asdict(job.settings).items() if name not in usual}
    return RankerEntry(job.checkpoint.kind, settings)


EXPORTER = Exporter(export, settings=CHANGEABLE)
