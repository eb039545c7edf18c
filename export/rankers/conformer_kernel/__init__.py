"""Export of the Conformer-Kernel."""

from ranklet.export.rankers.conformer_kernel.exporting import export, index, known_words

__all__ = ["export", "index", "known_words"]
