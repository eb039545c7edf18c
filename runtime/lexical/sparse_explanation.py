"""Explain a learned sparse score by query weights, document impacts and expansion terms."""

from collections.abc import Callable, Set
from dataclasses import replace
from itertools import islice

import numpy as np

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.lexical.sparse_store import SparseQuery, SparseStore

EXPANSION_SHOWN = 10  # number of terms shown that are in a document's vector but not in its text


def explain_terms(
    query: SparseQuery,
    store: SparseStore,
    document: int,
    in_text: Set[int],
    spell: Callable[[int], str],
    field: str,
) -> list[Explanation]:
    """Return one part per query term, and one that lists the document's strongest expansion.

    A label names the weight of the query term (paper 003, figure 3), and a part below it says
    whether the document has the term in its text or by expansion. The strongest expansion (figure
    4) adds nothing to the score.

    Args:
        query: terms and weights of the query.
        store: holds the document's vector.
        document: its number in the store.
        in_text: terms of the document's text.
        spell: returns the spelling of a term.
        field: the field of the terms, as in `Explanation.source`.
    """
    parts = []
    impacts = store.impacts(query.terms, np.array([document]))[:, 0]
    for term, weight, impact in zip(query.terms.tolist(), query.weights, impacts, strict=True):
        name = spell(term)
        label = f"{name}: importance {weight:.3f} · impact {impact:.3f}"
        inner = []
        if impact > 0:
            value, source = float(weight * impact), (field, name) if term in in_text else None
            place = "in the text" if source else "by expansion"
            inner.append(Explanation(f"{name}, {place}", value, source=source))
        parts.append(replace(Explanation.total(label, inner), query_token=(field, name)))
    terms, values = store.vector(document)
    descending = np.argsort(-values, kind="stable").tolist()
    expansion = (index for index in descending if int(terms[index]) not in in_text)
    strongest = [
        Explanation(f"{spell(int(terms[index]))}: impact {values[index]:.3f}", 0.0)
        for index in islice(expansion, EXPANSION_SHOWN)
    ]
    if strongest:
        parts.append(Explanation.total("not in the text: its strongest expansion", strongest))
    return parts
