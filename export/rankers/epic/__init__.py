"""Export of EPIC."""

from ranklet.export.rankers.epic.exporting import export, index, known_words

__all__ = ["export", "index", "known_words"]
