"""Explain MaxSim by the token of the document that each token of the query found."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation, ReadSpans
from ranklet.runtime.onnx.tokens import TextToken
from ranklet.runtime.rankers.colbert.tokens import Row

LABEL = "sum of the best matches"
PROMPT = "the prompt"
NOTHING = "no token of the query or of the document has a vector"


class _Match(NamedTuple):
    """A token of the query, and what it adds to the score."""

    token: TextToken
    group: str  # of tokens that are not words of the query, which share a part; empty for words
    value: float
    found: list[int]  # places of the document's tokens whose vector matches best


def explain_matches(
    field: str,
    query: Sequence[TextToken],
    row: Row,
    document: Sequence[TextToken],
    groups: Sequence[list[int]],
    similarities: NDArray[np.float32],
    notes: Mapping[int, str] | None = None,
) -> Explanation:
    """Return a part for each token of the query, with the token that it found below it.

    Special tokens of the query share a part, and so do the tokens of its prompt and of its
    expansion. Their labels say which share of the score they have.

    Args:
        field: the field of the tokens, as in `Explanation.source`.
        query: the tokens of the query's row.
        row: the query's row.
        document: the tokens of the document's row.
        groups: the places of the tokens that share each vector of the document.
        similarities: (query vectors, document vectors) float32.
        notes: follow the labels of the document's tokens, by their places in its row.
    """
    pieces, notes = _piece_numbers(document), notes or {}
    read = ReadSpans(field, ((0, len(pieces)),))
    if not similarities.size:
        return Explanation(NOTHING, 0.0, read=read)
    best = similarities.argmax(1)
    values = similarities[np.arange(len(best)), best].astype(np.float64)
    matches = [
        _Match(query[place], _group(query[place], place >= row.own), value, groups[vector])
        for place, value, vector in zip(row.kept, values.tolist(), best.tolist(), strict=True)
    ]
    parts, shared = [], defaultdict[str, list[_Match]](list)
    for match in matches:
        if match.group:
            shared[match.group].append(match)
            continue
        inner = _leaves(match, field, document, pieces, notes)
        name = match.token.spelling
        parts.append(replace(Explanation.total(name, inner), query_token=(field, name)))
    total = float(values.sum())
    for name, own in shared.items():
        inner = [leaf for match in own for leaf in _leaves(match, field, document, pieces, notes)]
        part = Explanation.total(name, inner)
        tokens = " ".join(dict.fromkeys(match.token.spelling.strip() for match in own))
        share = f", {part.value / total:.0%} of the score" if total > 0 else ""
        parts.append(replace(part, label=f"{name} ({len(own)}): {tokens}{share}"))
    return replace(Explanation.total(LABEL, parts), read=read)


def _group(token: TextToken, expands: bool) -> str:
    """Return which tokens that are not words of the query a token belongs to; empty for words."""
    if expands:
        return "expansion of the query"
    if token.special:
        return "special tokens of the query"
    return "prompt of the query" if token.end <= 0 else ""


def _piece_numbers(document: Sequence[TextToken]) -> dict[int, int]:
    """Return which word piece of the text stands at each place, numbered as in `ReadSpans`."""
    own = [at for at, token in enumerate(document) if not token.special and token.end > 0]
    return {place: number for number, place in enumerate(own)}


def _leaves(
    match: _Match,
    field: str,
    document: Sequence[TextToken],
    pieces: Mapping[int, int],
    notes: Mapping[int, str],
) -> list[Explanation]:
    """Return the tokens of the document that a token of the query found.

    Two tokens that share a vector share the amount.
    """
    amount = match.value / len(match.found)
    leaves = []
    for place in match.found:
        name = document[place].spelling
        if place not in pieces:
            what = name.strip() if document[place].special else PROMPT
            leaves.append(Explanation(f"{what} → {match.token.spelling.strip()}", amount))
            continue
        label, marks = f"{name} → {match.token.spelling.strip()}", ((pieces[place], amount),)
        if place in notes:
            label = f"{label} ({notes[place]})"
        leaves.append(Explanation(label, amount, source=(field, name), pieces=marks))
    return leaves
