"""Export of ColBERT."""

from ranklet.export.rankers.colbert.exporting import EXPORTER

__all__ = ["EXPORTER"]
