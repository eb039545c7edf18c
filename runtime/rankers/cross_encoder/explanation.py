"""BERT-Model1's score taken apart: which document pieces explain which query piece."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.explanation import Explanation

# Added to every P(q|D), so that a document which explains nothing has a score: P(q|C) of an unseen
# token in paper 000, footnote 3. Written into the graph.
FLOOR = 1e-9
SHOWN = 5  # document pieces of one query piece; the others are added up


def explain_translations(
    translations: NDArray[np.float32],
    query: Sequence[int],
    documents: NDArray[np.int64],
    places: NDArray[np.int64],
    spell: Callable[[int], str | None],
    label: str,
    field: str = "wordpieces",
) -> Explanation:
    """Return log P(Q|D) by query piece, and each of those by document piece (paper 000, eq. 4).

    A query piece's log P(q|D) is the floor's logarithm, which it has without any translation, and
    what the translations add to it, shared among document pieces in proportion to T(q|d).

    Args:
        translations: T(q|d), (chunks, query pieces, tokens), 0 where a token is no document's.
        query: its pieces.
        documents: the token ids, (chunks, tokens).
        places: which piece of the document each is, −1 where it is none, (chunks, tokens).
        spell: gives the spelling of a token id.
        label: of the whole.
        field: that the pieces are of, as in `Explanation.source`.

    Raises:
        BundleError: there are not as many rows as query pieces.
    """
    if translations.shape[1] != max(1, len(query)):  # of a query without pieces one row is empty
        raise BundleError(
            f"the cross-encoder explains {translations.shape[1]} pieces of a query of "
            f"{len(query)}: the bundle is damaged"
        )
    translations = translations[:, : len(query)]
    length = max(1, int((translations > 0).any(1).sum()))
    ids, places = documents.reshape(-1), places.reshape(-1)
    by_piece = translations.transpose(1, 0, 2).reshape(-1, len(ids)).astype(np.float64)
    parts = []
    for piece, found in zip(query, by_piece, strict=True):
        name = spell(piece) or f"#{piece}"
        likelihood = found.sum() / length + FLOOR
        gained = log(likelihood / FLOOR)
        inner = [Explanation("of any document", log(FLOOR))]
        gains = gained * found / max(found.sum(), FLOOR)  # of each position
        shares = np.bincount(ids, gains)
        order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)].tolist()
        for token in order[:SHOWN]:
            spelling = spell(token) or f"#{token}"
            pieces = _standing(places, gains, ids == token)
            amount = float(shares[token])
            inner.append(
                Explanation(f"{spelling} → {name}", amount, source=(field, spelling), pieces=pieces)
            )
        if rest := order[SHOWN:]:
            pieces = _standing(places, gains, np.isin(ids, rest))
            others = f"{len(rest)} more → {name}"
            inner.append(Explanation(others, float(shares[rest].sum()), pieces=pieces))
        part = Explanation.total(f"{name}, P = {likelihood:.3g}", inner)
        parts.append(replace(part, query_token=(field, name)))
    return Explanation.total(label, parts)


def _standing(
    places: NDArray[np.int64], gains: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[tuple[int, float], ...]:
    """Return where some positions stand in the document and what each gains, as in `at`."""
    kept = chosen & (gains > 0) & (places >= 0)
    return tuple(zip(places[kept].tolist(), gains[kept].tolist(), strict=True))
