"""Export of the neural Model 1."""

from ranklet.export.rankers.neural_model1.exporting import EXPORTER

__all__ = ["EXPORTER"]
