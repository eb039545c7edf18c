"""IBM Model 1 as a ranker, which scores how well a document's tokens translate into the query's.

Source: Boytsov & Kolter 2021, eq. 2 to 4.

The translation table has T(q|d) for pairs of tokens, sparse, one row per query token. EM's Model 1
and the sparsified neural Model 1 are both such tables. Self-translations are not stored. T(t|t) is
one constant of the ranker, so that it can be tuned without touching the table.
"""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.arrays import rows_ascend
from ranklet.runtime.storage.block_array import fetch_rows
from ranklet.runtime.storage.forward import Gathered

UNSEEN = 1e-9  # P(q|C) of a token that the collection lacks (Boytsov & Kolter, footnote 3)


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


def translation_likelihoods(
    query: NDArray[np.int32], table: TranslationTable, p_self: float, documents: Gathered
) -> NDArray[np.float32]:
    """Return Σ_d T(q|d) P(d|D), eq. 2, for each query token and document.

    T(q|q) is `p_self`. Every other T(q|d) is the table's value times 1 − `p_self`. P(d|D) is the
    share of d among the document's tokens, so the sum over unique tokens is a mean over positions
    (eq. 4).

    Args:
        query: token ids, repeats allowed, (query tokens,) int32.
        table: translation probabilities without self-translations.
        p_self: T(t|t), in [0, 1].
        documents: the tokens of the documents.

    Returns:
        (query tokens, documents) float32, zero for a document without tokens.
    """
    tokens, lengths = documents
    out = np.zeros((len(query), len(lengths)), np.float32)
    if not len(tokens) or not len(query):
        return out
    # One boolean look-up finds the positions whose token translates into any query token. Only
    # those are visited per query token, and their weights fit into the fastest cache.
    size = int(max(tokens.max(), query.max())) + 1
    rows = [_below(size, *row) for row in table.rows(query)]
    translates = np.zeros(size, np.bool_)
    translates[query] = True
    for sources, _ in rows:
        translates[sources] = True
    # By the definition of `size` no index is out of range. "clip" only skips numpy's own check.
    hits = np.flatnonzero(translates.take(tokens, mode="clip"))
    useful = np.flatnonzero(translates)
    # The index of each useful token among them, in the smallest type because access is random.
    place = np.zeros(size, np.min_scalar_type(len(useful)))
    place[useful] = np.arange(len(useful))
    hit_place = place.take(tokens.take(hits), mode="clip").astype(np.intp)
    # The hits of one document are adjacent. Summing over such runs costs a quarter of a bincount.
    ends = np.searchsorted(hits, np.cumsum(lengths))
    begins = np.concatenate([[0], ends[:-1]])
    hit = begins < ends  # a document without hits has no run and keeps its zeros
    begins, lengths = begins[hit], lengths[hit]
    weight = np.zeros(len(useful))  # T(q|d) of each useful d for one q, (useful,) float64
    hit_weight = np.empty(len(hits))
    for token, (sources, probabilities), likelihood in zip(query.tolist(), rows, out, strict=True):
        weight[place[sources]] = probabilities * np.float32(1 - p_self)
        weight[place[token]] = p_self
        weight.take(hit_place, out=hit_weight, mode="clip")
        likelihood[hit] = np.add.reduceat(hit_weight, begins) / lengths
        weight[:] = 0
    return out


def _below(
    size: int, sources: NDArray[np.int32], probabilities: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the part of a table row below token `size`, because no document has larger tokens."""
    end = np.searchsorted(sources, size)
    return sources[:end], probabilities[:end]


def log_odds(
    likelihoods: NDArray[np.float32], background: NDArray[np.float32], lambda_: float
) -> NDArray[np.float32]:
    """Return log P(q|D) − log λP(q|C) for each query token and document.

    P(q|D) = (1 − λ) Σ_d T(q|d) P(d|D) + λ P(q|C) (eq. 3). The result is the log-likelihood of the
    query token minus the one of a document without any translation of it. The subtracted value is
    the same for all documents, so no ranking changes. But a document that explains nothing of the
    query scores 0, and no score is negative.

    Args:
        likelihoods: Σ_d T(q|d) P(d|D), (query tokens, documents) float32.
        background: P(q|C) of each query token, > 0, (query tokens,) float32.
        lambda_: weight of the collection model, in (0, 1].
    """
    odds = (1 - lambda_) / (lambda_ * background.astype(np.float64))
    return np.log1p(odds[:, None] * likelihoods).astype(np.float32)
