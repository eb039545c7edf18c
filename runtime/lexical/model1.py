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
    tokens, owner, lengths = documents
    count = len(lengths)
    out = np.zeros((len(query), count), np.float32)
    if not len(tokens) or not len(query):
        return out
    rows = [table.row(token) for token in query.tolist()]
    # One boolean look-up finds the few positions whose token translates into any query token; only
    # those are then looked at for each query token (0.5 ms for 1,000 passages of 56 tokens).
    translates = np.zeros(int(max(tokens.max(), query.max())) + 1, np.bool_)
    for token, (sources, _) in zip(query.tolist(), rows, strict=True):
        translates[sources[: np.searchsorted(sources, len(translates))]] = True
        translates[token] = True
    hits = np.flatnonzero(translates[tokens])
    hit_tokens, hit_owner = tokens[hits], owner[hits]
    weight = np.zeros(len(translates), np.float32)  # of each document token for one query token
    lengths = np.maximum(lengths, 1)
    for token, (sources, probabilities), likelihood in zip(query.tolist(), rows, out, strict=True):
        end = np.searchsorted(sources, len(weight))
        sources, probabilities = sources[:end], probabilities[:end]
        weight[sources] = probabilities * np.float32(1 - p_self)
        weight[token] = p_self
        likelihood[:] = np.bincount(hit_owner, weight[hit_tokens], count) / lengths
        weight[sources] = 0
        weight[token] = 0
    return out


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
