"""Build the translation tables that the runtime reads, and P(q|C) of the collection."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.model1 import UNSEEN, TranslationTable


@dataclass(frozen=True, eq=False)
class Translations:
    """A sparse table T(target | source), sorted by (target, source).

    Attributes:
        source: (entries,) int32 token ids.
        target: (entries,) int32 token ids.
        probability: (entries,) float64 in (0, 1].
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    probability: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.probability)

    def only(self, mask: NDArray[np.bool_]) -> "Translations":
        """Return the entries where `mask`, (entries,) bool, is True, in the same order."""
        return Translations(self.source[mask], self.target[mask], self.probability[mask])


def as_table(translations: Translations, size: int) -> TranslationTable:
    """Return translations, sorted by (target, source), as a table with rows of query tokens."""
    counts = np.bincount(translations.target, minlength=size)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return TranslationTable(
        offsets, translations.source, translations.probability.astype(np.float32)
    )


def background(frequencies: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the maximum-likelihood P(q|C), 1e-9 for unseen tokens, (tokens,) float32.

    Source: Boytsov & Kolter, §3, footnote 3.
    """
    total = max(1, int(frequencies.sum()))
    return np.maximum(frequencies / total, UNSEEN).astype(np.float32)
