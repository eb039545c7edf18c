"""IBM Model 1 as a ranker: how well a document's tokens translate into the query's.

Source: Boytsov & Kolter 2021 (paper 000), eq. 2 to 4.
"""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.lexical.translation_table import TranslationTable

UNSEEN = 1e-9  # P(q|C) of a token that the collection does not have (paper 000, footnote 3)


def translation_likelihoods(
    query: NDArray[np.int32], table: TranslationTable, p_self: float, documents: Gathered
) -> NDArray[np.float32]:
    """Return Σ_d T(q|d) P(d|D), eq. 2, for each query token and document.

    T(q|q) is `p_self`; every other T(q|d) is the table's times 1 − `p_self`. P(d|D) is the share
    of d among the document's tokens: the sum over unique tokens is a mean over positions (eq. 4).

    Args:
        query: token ids, repeats allowed, (query tokens,) int32.
        table: translations without self-translations.
        p_self: T(t|t), in [0, 1].
        documents: the tokens of the documents.

    Returns:
        (query tokens, documents) float32; zeros for a document without tokens.
    """
    tokens, lengths = documents
    out = np.zeros((len(query), len(lengths)), np.float32)
    if not len(tokens) or not len(query):
        return out
    # One boolean look-up finds the positions whose token translates into any query token, and only
    # those are looked at for each query token, through weights that fit the fastest cache.
    size = int(max(tokens.max(), query.max())) + 1
    rows = [_below(size, *table.row(token)) for token in query.tolist()]
    translates = np.zeros(size, np.bool_)
    translates[query] = True
    for sources, _ in rows:
        translates[sources] = True
    # No index is past the end by how `size` is made; "clip" then only spares numpy its own check.
    hits = np.flatnonzero(translates.take(tokens, mode="clip"))
    useful = np.flatnonzero(translates)
    # Where each useful token stands among them; in the smallest type, for it is read at random.
    place = np.zeros(size, np.min_scalar_type(len(useful)))
    place[useful] = np.arange(len(useful))
    hit_place = place.take(tokens.take(hits), mode="clip").astype(np.intp)
    # The hits of a document lie side by side: sums over such runs cost a quarter of a bincount.
    ends = np.searchsorted(hits, np.cumsum(lengths))
    begins = np.concatenate([[0], ends[:-1]])
    hit = begins < ends  # a document without hits has no run, and keeps its zeros
    begins, lengths = begins[hit], lengths[hit]
    weight = np.zeros(len(useful))  # of each useful token for one query token, (useful,) float64
    found = np.empty(len(hits))
    for token, (sources, probabilities), likelihood in zip(query.tolist(), rows, out, strict=True):
        at = place[sources]
        weight[at] = probabilities * np.float32(1 - p_self)
        weight[place[token]] = p_self
        weight.take(hit_place, out=found, mode="clip")
        likelihood[hit] = np.add.reduceat(found, begins) / lengths
        weight[:] = 0
    return out


def _below(
    size: int, sources: NDArray[np.int32], probabilities: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return a row of the table up to a token: no document has one from there on."""
    end = np.searchsorted(sources, size)
    return sources[:end], probabilities[:end]


def log_odds(
    likelihoods: NDArray[np.float32], background: NDArray[np.float32], lambda_: float
) -> NDArray[np.float32]:
    """Return log P(q|D) − log λP(q|C) for each query token and document.

    With P(q|D) = (1 − λ) Σ_d T(q|d) P(d|D) + λ P(q|C) (eq. 3), this is the log-likelihood of the
    query token less what a document without any translation of it would get. What is taken off is
    the same for all documents, so no ranking changes; but a document that explains nothing of the
    query scores 0, and no score is negative.

    Args:
        likelihoods: Σ_d T(q|d) P(d|D), (query tokens, documents) float32.
        background: P(q|C) of each query token, > 0, (query tokens,) float32.
        lambda_: weight of the collection, in (0, 1].
    """
    odds = (1 - lambda_) / (lambda_ * background.astype(np.float64))
    return np.log1p(odds[:, None] * likelihoods).astype(np.float32)
