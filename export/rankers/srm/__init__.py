"""Export and indexing of light contextualisation."""

from ranklet.export.rankers.srm.exporting import EXPORTER

__all__ = ["EXPORTER"]
