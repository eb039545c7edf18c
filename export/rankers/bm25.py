"""Export BM25, which is only its settings."""

from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob

EXPORTER = Exporter(ExportJob.entry, settings=("title_boost", "impacts"))
