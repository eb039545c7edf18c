"""EPIC's score taken apart: importances, impacts, and what the document was expanded by."""

from collections.abc import Callable, Set
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.lexical.sparse_store import SparseQuery

EXPANSION_SHOWN = 10  # terms of a document that its text does not hold


def explain_terms(
    query: SparseQuery,
    impacts: NDArray[np.float32],
    vector: tuple[NDArray[np.uint16], NDArray[np.float32]],
    held: Set[int],
    spell: Callable[[int], str],
    field: str,
) -> Explanation:
    """Explain a score by all of the query's terms: what stands in the text, and expansion.

    Importances of the query's terms are in the labels (paper 003, figure 3), and so is what the
    document was expanded by most (figure 4), which adds nothing unless the query asks for it.

    Args:
        query: its terms and importances.
        impacts: of each of them on the document, (terms,).
        vector: of the document, its terms and values.
        held: terms of the document's text.
        spell: gives the spelling of a term.
        field: that the terms are of, as in `Explanation.source`.
    """
    parts = []
    for term, weight, impact in zip(query.terms.tolist(), query.weights, impacts, strict=True):
        name = spell(term)
        label = f"{name}: importance {weight:.3f} · impact {impact:.3f}"
        inner = []
        if impact > 0:
            value, source = float(weight * impact), (field, name) if term in held else None
            place = "in the text" if source else "by expansion"
            inner.append(Explanation(f"{name}, {place}", value, source=source))
        parts.append(replace(Explanation.total(label, inner), query_token=(field, name)))
    terms, values = vector
    best = np.argsort(-values, kind="stable").tolist()
    strongest = [
        Explanation(f"{spell(int(terms[at]))}: impact {values[at]:.3f}", 0.0)
        for at in islice((at for at in best if int(terms[at]) not in held), EXPANSION_SHOWN)
    ]
    if strongest:
        parts.append(Explanation.total("not in the text: its strongest expansion", strongest))
    return Explanation.total("EPIC", parts)
