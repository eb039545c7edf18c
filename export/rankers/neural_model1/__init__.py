"""Export of the neural Model 1."""

from ranklet.export.rankers.neural_model1.exporting import export, index, known_words

__all__ = ["export", "index", "known_words"]
