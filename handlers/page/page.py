"""Explained hits as one HTML page that needs nothing else: no server, no network, no library.

It looks as the playground does, whose style it holds, and is whole without JavaScript; a few lines
of it show one piece of the query at a time. Its content policy allows those lines and no others.
"""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from ranklet.handlers.page.html import Markup, element, join
from ranklet.handlers.page.marked_text import Piece, drawn, pieces
from ranklet.handlers.page.score_tree import Group, amount, branch, chips, groups, meter, table
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Hit
from ranklet.runtime.text.analysis import encodable

PARTS = Path(__file__).parent.parent / "playground"


def page(bundle: Bundle, query: str, hits: Sequence[Hit], recipe: str) -> str:
    """Return an HTML page on some explained hits of one query.

    Args:
        bundle: that ranked them.
        query: what was asked.
        hits: with explanations; best first, or as they were asked for.
        recipe: the pipeline, in words.

    Raises:
        BundleError: the bundle is damaged.
    """
    cut = {id(hit): pieces(bundle, hit) for hit in hits}
    drawn_pieces = [piece for title, text in cut.values() for piece in (*title, *text)]
    largest = max((piece.value for piece in drawn_pieces), default=0.0)
    highest = max((hit.score for hit in hits), default=0.0)
    cards = [
        card(hit, place, cut[id(hit)], groups(bundle, query, hit), largest, highest)
        for place, hit in enumerate(hits, 1)
    ]
    found = element("ol", *cards, class_="results")
    if not cards:
        found = element("p", "No hits for this query.", class_="status")
    asked = (element("h1", query, dir="auto"), element("p", recipe, class_="lead"))
    body = join(
        element("header", _brand(), class_="top"),
        element("main", element("section", *asked, class_="ask"), found),
        element("footer", *_legend(drawn_pieces)),
    )
    style, script = _part("style.css") + _part("explanation.css"), _part("explanation.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", f"{query} – explained by ranklet"),
        element("style", Markup(style)),
    )
    whole = element(
        "html",
        element("head", head),
        element("body", body, element("script", Markup(script), type="module")),
        lang="en",
    )
    # Half a character, a lone surrogate, cannot be written: ? takes its place.
    return encodable(f"<!doctype html>\n{whole}\n")


def card(
    hit: Hit,
    place: int,
    cut: tuple[list[Piece], list[Piece]],
    grouped: Sequence[Group],
    largest: float,
    highest: float,
) -> Markup:
    """Return one hit: its text with marks, the query's pieces, and the score taken apart."""
    title, text = (drawn(each, largest) for each in cut)
    parts = [chips(group) for group in grouped]
    parts += [table(group) for group in grouped if any(own.parts for _, own in group.asked)]
    if hit.explanation is not None:
        root = element("ul", branch(hit.explanation, hit.explanation.value))
        summary = element("summary", "The score taken apart")
        tree = element("div", element("details", summary, root, open=True), class_="part why")
        parts.append(tree)
    return element(
        "li",
        element("span", str(place), class_="place", aria_hidden="true"),
        element("h2", *(title if hit.title else [hit.id]), dir="auto"),
        # A log-probability is below 0, and no bar says how near to it is good.
        element(
            "div",
            amount(hit.score, "score"),
            meter(hit.score, highest) if highest > 0 else Markup(),
        ),
        element("p", hit.id, class_="id") if hit.title else Markup(),
        element("p", *text, class_="text", dir="auto", tabindex="0"),
        *parts,
        class_="hit",
    )


def _legend(shown: Sequence[Piece]) -> list[Markup]:
    """Return what the marks mean, of those that the page has."""
    told = []
    if any(piece.value for piece in shown):
        told.append(
            "Marked words carry the score: the stronger the mark, the more a word adds. A token "
            "that stands at several places has its amount shared equally among them, unless a "
            "network told one from another."
        )
    if any(piece.by for piece in shown):
        told.append("Choose a piece of the query to see what carried it; Escape shows all again.")
    if any(piece.exact for piece in shown):
        told.append("Underlined: marked as an exact match in what the network read.")
    if any(not piece.read for piece in shown):
        told.append("Italic: past what the network reads.")
    if not told:
        told.append("These scores have no parts by token.")
    return [element("p", each) for each in told]


def _brand() -> Markup:
    bars = "".join(
        f'<rect x="2" y="{y}" width="{width}" height="4" rx="2"></rect>'
        for y, width in ((4, 20), (10, 13), (16, 7))
    )
    size = {"viewBox": "0 0 24 24", "width": "26", "height": "26"}
    icon = element("svg", Markup(bars), aria_hidden="true", **size)
    return element("span", icon, element("span", "ranklet"), class_="brand")


@cache
def _part(name: str) -> str:
    return (PARTS / name).read_text("utf-8")
