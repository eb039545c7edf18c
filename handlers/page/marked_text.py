"""Mark a hit's text: the stronger a mark, the more its characters add to the score."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.highlight import marked, spans_by_query_token, unread
from ranklet.runtime.hits import Hit
from ranklet.runtime.html import Markup, element, join
from ranklet.runtime.text.ranked import ranked_part

FAINT = 0.02  # marks below this share of the strongest one are not drawn, as in the playground


class Piece(NamedTuple):
    """Consecutive characters that are drawn alike.

    Attributes:
        text: the characters.
        value: what they add to the score.
        by_query_token: what they add for each query token, by its number as in `Node`.
        exact: whether they belong to a word that was marked as an exact match.
        read: whether every network read them.
    """

    text: str
    value: float
    by_query_token: dict[int, float]
    exact: bool
    read: bool


def pieces(bundle: Bundle, hit: Hit) -> tuple[list[Piece], list[Piece]]:
    """Return a hit's title and text, cut wherever a span begins or ends.

    The values of overlapping spans add up. A span that is cut gives each piece all of its value.
    """
    tree = hit.explanation
    if tree is None:
        return [], []
    ranked, shift = ranked_part(hit.title, hit.text, bundle.titles)
    whole = f"{hit.title}\n{hit.text}"
    spans = [
        (span.shifted(shift), query_token)
        for span, query_token in spans_by_query_token(tree, ranked, bundle.analysis)
    ]
    exact, not_read = (
        [(begin + shift, end + shift) for begin, end in places(tree, ranked, bundle.analysis)]
        for places in (marked, unread)
    )
    text_begins = len(hit.title) + 1
    edges = {0, len(hit.title), text_begins, len(whole)}
    edges |= {edge for span, _ in spans for edge in (span.begin, span.end)}
    edges |= {edge for place in (*exact, *not_read) for edge in place}
    title_and_text: tuple[list[Piece], list[Piece]] = ([], [])
    for begin, end in pairwise(sorted(edges)):
        by_query_token: dict[int, float] = {}
        value = 0.0
        for span, query_token in spans:
            if span.begin <= begin and span.end >= end:
                value += span.value
                if query_token is not None:
                    by_query_token[query_token] = by_query_token.get(query_token, 0.0) + span.value
        is_exact, is_read = _within(begin, end, exact), not _within(begin, end, not_read)
        if begin != len(hit.title):  # the line break between title and text belongs to neither
            piece = Piece(whole[begin:end], value, by_query_token, is_exact, is_read)
            title_and_text[begin >= text_begins].append(piece)
    return title_and_text


def drawn(text: Sequence[Piece], largest: float) -> list[Markup]:
    """Return pieces with their marks; `largest` is the value of the strongest mark on the page."""
    elements = []
    strengths = [heat(piece.value, largest) for piece in text]
    around = [0.0, *strengths, 0.0]
    for index, (piece, strength) in enumerate(zip(text, strengths, strict=True)):
        shown = join(piece.text)
        if piece.value or piece.by_query_token:
            classes = {
                "faint": strength < FAINT,
                "strong": strength > 0.5,
                "less": piece.value < 0,
                "went-on": around[index] >= FAINT,
                "goes-on": around[index + 2] >= FAINT,
            }
            by = " ".join(f"{token}:{value:.6g}" for token, value in piece.by_query_token.items())
            shown = element(
                "mark",
                shown,
                class_=" ".join(name for name, applies in classes.items() if applies) or False,
                style=f"--heat: {strength:.3f}",
                title=f"adds {piece.value:.4f}",
                data_by=by or False,
            )
        if piece.exact:
            shown = element("span", shown, class_="exact", title="marked as an exact match")
        if not piece.read:
            shown = element("span", shown, class_="unread", title="not read by the network")
        elements.append(shown)
    return elements


def heat(value: float, largest: float) -> float:
    """Return the strength of a mark, from 0 to 1."""
    return min(1.0, max(0.0, value / largest)) if largest > 0 else 0.0


def _within(begin: int, end: int, places: Sequence[tuple[int, int]]) -> bool:
    return any(first <= begin and end <= last for first, last in places)
