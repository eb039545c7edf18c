"""A hit's text with marks: the stronger a mark, the more of the score its characters carry."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ranklet.handlers.page.html import Markup, element, join
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.highlight import marked, spans_by_query_token, unread
from ranklet.runtime.hits import Hit
from ranklet.runtime.text.ranked import ranked_part

FAINT = 0.02  # of the strongest mark: what is less is not drawn, as in the playground


class Piece(NamedTuple):
    """Characters of a text that are drawn alike.

    Attributes:
        text: itself.
        value: what it adds to the score.
        by: what it adds for each of the query's tokens, by number.
        exact: whether it is of a word that was marked for a network.
        read: whether every network read it.
    """

    text: str
    value: float
    by: dict[int, float]
    exact: bool
    read: bool


def pieces(bundle: Bundle, hit: Hit) -> tuple[list[Piece], list[Piece]]:
    """Return a hit's title and text, cut where what they carry changes.

    Where spans overlap their values add up; a span that is cut gives each piece all of its value.
    """
    found = hit.explanation
    if found is None:
        return [], []
    ranked, at = ranked_part(hit.title, hit.text, bundle.manifest.titles)
    whole = f"{hit.title}\n{hit.text}"
    spans = [
        (span.shifted(at), asked)
        for span, asked in spans_by_query_token(found, ranked, bundle.analysis)
    ]
    exact, rest = (
        [(begin + at, end + at) for begin, end in places(found, ranked, bundle.analysis)]
        for places in (marked, unread)
    )
    begin = len(hit.title) + 1  # of the text
    edges = {0, len(hit.title), begin, len(whole)}
    edges |= {edge for span, _ in spans for edge in (span.begin, span.end)}
    edges |= {edge for place in (*exact, *rest) for edge in place}
    parts: tuple[list[Piece], list[Piece]] = ([], [])
    for at, to in pairwise(sorted(edges)):
        by: dict[int, float] = {}
        value = 0.0
        for span, asked in spans:
            if span.begin <= at and span.end >= to:
                value += span.value
                if asked is not None:
                    by[asked] = by.get(asked, 0.0) + span.value
        piece = Piece(whole[at:to], value, by, _within(at, to, exact), not _within(at, to, rest))
        if at != len(hit.title):  # the end of the title's line is of neither
            parts[at >= begin].append(piece)
    return parts


def drawn(cut: Sequence[Piece], largest: float) -> list[Markup]:
    """Return the pieces of a text with their marks; neighbours of one mark run together."""
    found = []
    strengths = [heat(piece.value, largest) for piece in cut]
    around = [0.0, *strengths, 0.0]
    for at, (piece, strength) in enumerate(zip(cut, strengths, strict=True)):
        shown = join(piece.text)
        if piece.value or piece.by:
            classes = {
                "faint": strength < FAINT,
                "strong": strength > 0.5,
                "less": piece.value < 0,
                "went-on": around[at] >= FAINT,
                "goes-on": around[at + 2] >= FAINT,
            }
            by = " ".join(f"{asked}:{value:.6g}" for asked, value in piece.by.items())
            shown = element(
                "mark",
                shown,
                class_=" ".join(name for name, given in classes.items() if given) or False,
                style=f"--heat: {strength:.3f}",
                title=f"adds {piece.value:.4f}",
                data_by=by or False,
            )
        if piece.exact:
            shown = element("span", shown, class_="exact", title="marked as an exact match")
        if not piece.read:
            shown = element("span", shown, class_="unread", title="not read by the network")
        found.append(shown)
    return found


def heat(value: float, largest: float) -> float:
    """Return how strong a mark is, 0 to 1."""
    return min(1.0, max(0.0, value / largest)) if largest > 0 else 0.0


def _within(begin: int, end: int, places: Sequence[tuple[int, int]]) -> bool:
    return any(first <= begin and end <= last for first, last in places)
