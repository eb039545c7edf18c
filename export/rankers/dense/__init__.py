"""Export of dense encoders."""

from ranklet.export.rankers.dense.exporting import EXPORTER

__all__ = ["EXPORTER"]
