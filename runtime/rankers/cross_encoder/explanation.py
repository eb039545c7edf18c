"""Explain BERT-Model1's score by the document pieces that translate into each query piece."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import damaged
from ranklet.runtime.explanation import Explanation

# Added to every P(q|D) in the graph, so that a document which explains nothing has a score. It is
# P(q|C) of an unseen token in Boytsov & Kolter, footnote 3.
FLOOR = 1e-9
SHOWN = 5  # number of document pieces shown per query piece; the others are added up


def explain_translations(
    translations: NDArray[np.float32],
    query: Sequence[int],
    documents: NDArray[np.int64],
    places: NDArray[np.int64],
    spell: Callable[[int], str | None],
    label: str,
    field: str = "wordpieces",
) -> Explanation:
    """Return log P(Q|D) by query pieces, and each by document pieces (Boytsov & Kolter, eq. 4).

    A query piece's log P(q|D) is the logarithm of the floor plus the gain by translations, which is
    divided among document pieces in proportion to T(q|d).

    Args:
        translations: T(q|d), (chunks, query pieces, tokens), 0 for tokens outside the document.
        query: the query's pieces.
        documents: the token ids, (chunks, tokens).
        places: the document piece of each token, −1 if it is not in the document, (chunks, tokens).
        spell: returns the spelling of a token id.
        label: label of the whole score.
        field: the field of the pieces, as in `Explanation.source`.

    Raises:
        BundleError: the number of rows differs from the number of query pieces.
    """
    if translations.shape[1] != max(1, len(query)):  # a query without pieces has one empty row
        pieces = translations.shape[1]
        raise damaged(f"the cross-encoder explains {pieces} pieces of a query with {len(query)}")
    translations = translations[:, : len(query)]
    length = max(1, int((translations > 0).any(1).sum()))
    ids, places = documents.reshape(-1), places.reshape(-1)
    by_piece = translations.transpose(1, 0, 2).reshape(-1, len(ids)).astype(np.float64)
    parts = []
    for piece, probabilities in zip(query, by_piece, strict=True):
        name = spell(piece) or f"#{piece}"
        likelihood = probabilities.sum() / length + FLOOR
        gain = log(likelihood / FLOOR)
        inner = [Explanation("of any document", log(FLOOR))]
        gains = gain * probabilities / max(probabilities.sum(), FLOOR)  # of each position
        shares = np.bincount(ids, gains)
        order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)].tolist()
        for token in order[:SHOWN]:
            spelling = spell(token) or f"#{token}"
            pieces = _piece_gains(places, gains, ids == token)
            amount = float(shares[token])
            inner.append(
                Explanation(f"{spelling} → {name}", amount, source=(field, spelling), pieces=pieces)
            )
        if rest := order[SHOWN:]:
            pieces = _piece_gains(places, gains, np.isin(ids, rest))
            others = f"{len(rest)} more → {name}"
            inner.append(Explanation(others, float(shares[rest].sum()), pieces=pieces))
        part = Explanation.total(f"{name}, P = {likelihood:.3g}", inner)
        parts.append(replace(part, query_token=(field, name)))
    return Explanation.total(label, parts)


def _piece_gains(
    places: NDArray[np.int64], gains: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[tuple[int, float], ...]:
    """Return the document pieces at some positions and their gains, for `Explanation.pieces`."""
    shown = chosen & (gains > 0) & (places >= 0)
    return tuple(zip(places[shown].tolist(), gains[shown].tolist(), strict=True))
