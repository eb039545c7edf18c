"""Translation table with T(q|d) for pairs of tokens, sparse, one row per query token.

EM's Model 1 and the sparsified neural Model 1 are both such tables. Self-translations are not
stored. T(t|t) is one constant of the ranker, so that it can be tuned without touching the table.
"""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.storage.arrays import rows_ascend
from ranklet.runtime.storage.block_array import fetch_rows


class TranslationTable:
    """Sparse rows in memory or memory-mapped; immutable.

    Args:
        offsets: the row of query token q is ``offsets[q]:offsets[q + 1]``, (tokens + 1,) int64.
        sources: document tokens, ascending within a row, never q itself, (pairs,) int32.
        probabilities: T(q|d), in (0, 1], (pairs,) float32.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        sources: NDArray[np.int32],
        probabilities: NDArray[np.float32],
    ) -> None:
        self.offsets, self.sources, self.probabilities = offsets, sources, probabilities

    def __len__(self) -> int:
        return len(self.sources)

    def verify(self, name: str) -> None:
        """Check every entry.

        Raises:
            BundleError: an entry is wrong; the message begins with `name`.
        """
        if len(self) and not 0 <= self.sources.min() <= self.sources.max() < len(self.offsets) - 1:
            raise BundleError(f"{name}: a translation has a token past the vocabulary")
        if not ((self.probabilities > 0) & (self.probabilities <= 1)).all():
            raise BundleError(f"{name}: a translation probability is not in (0, 1]")
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        if (rows == self.sources).any():
            raise BundleError(f"{name}: the table holds the translation of a token into itself")
        if not rows_ascend(self.offsets, self.sources):
            raise BundleError(f"{name}: the document tokens of a row do not ascend")

    def rows(
        self, tokens: NDArray[np.integer]
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Return what `row` does for each of some tokens; the rows are fetched at once."""
        known = tokens[(tokens >= 0) & (tokens < len(self.offsets) - 1)]
        fetch_rows(known, ragged=[(self.offsets, self.sources, self.probabilities)])
        return [self.row(token) for token in tokens.tolist()]

    def row(self, token: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the document tokens that translate into a query token, and their T(q|d)."""
        if not 0 <= token < len(self.offsets) - 1:
            return self.sources[:0], self.probabilities[:0]
        begin, end = self.offsets[token], self.offsets[token + 1]
        return self.sources[begin:end], self.probabilities[begin:end]
