"""Export of the Conformer-Kernel."""

from ranklet.export.rankers.conformer_kernel.exporting import EXPORTER

__all__ = ["EXPORTER"]
