"""Explained hits as one HTML file that needs no server, no network and no library.

The page has the playground's style and is complete without JavaScript. A short script shows one
query token at a time, and the page's content policy allows this script only.
"""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from ranklet.handlers.page.marked_text import Piece, drawn, pieces
from ranklet.handlers.page.score_tree import Group, amount, branch, buttons, groups, meter, table
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Hit, in_line
from ranklet.runtime.html import GENERATOR, Markup, element, join
from ranklet.runtime.text.tokenizing import encodable

PARTS = Path(__file__).parent.parent / "playground"


def page(bundle: Bundle, query: str, hits: Sequence[Hit], pipeline: str) -> str:
    """Return an HTML page that explains hits of one query; `pipeline` is a description.

    Raises:
        BundleError: the bundle is damaged.
    """
    marked = [pieces(bundle, hit) for hit in hits]
    all_pieces = [piece for title, text in marked for piece in (*title, *text)]
    largest = max((piece.value for piece in all_pieces), default=0.0)
    highest = max((hit.score for hit in hits), default=0.0)
    cards = [
        _card(hit, place, title_and_text, groups(bundle, query, hit), largest, highest)
        for place, (hit, title_and_text) in enumerate(zip(hits, marked, strict=True), 1)
    ]
    results = element("ol", *cards, class_="results")
    if not cards:
        results = element("p", "No hits for this query.", class_="status")
    heading = (element("h1", query, dir="auto"), element("p", pipeline, class_="lead"))
    body = join(
        element("header", _brand(), class_="top"),
        element("main", element("section", *heading, class_="ask"), results),
        element("footer", *_legend(all_pieces)),
    )
    style, script = _part("style.css") + _part("explanation.css"), _part("explanation.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = join(
        Markup('<meta charset="utf-8">'),
        GENERATOR,
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", f"{query} – explained by ranklet"),
        element("style", Markup(style)),
    )
    html = element(
        "html",
        element("head", head),
        element("body", body, element("script", Markup(script), type="module")),
        lang="en",
    )
    return encodable(f"<!doctype html>\n{html}\n")  # a lone surrogate becomes "?"


def _card(
    hit: Hit,
    place: int,
    title_and_text: tuple[list[Piece], list[Piece]],
    token_groups: Sequence[Group],
    largest: float,
    highest: float,
) -> Markup:
    """Return a hit: its marked text, a button per query token, and the parts of its score."""
    title, text = (drawn(each, largest) for each in title_and_text)
    parts = [buttons(group) for group in token_groups]
    parts += [
        table(group) for group in token_groups if any(own.parts for _, own in group.query_tokens)
    ]
    if hit.explanation is not None:
        root = element("ul", branch(hit.explanation, hit.explanation.value))
        summary = element("summary", "All parts of the score")
        tree = element("div", element("details", summary, root, open=True), class_="part why")
        parts.append(tree)
    # Log-probabilities are below 0 and get no bar, because its length would say nothing.
    bar = meter(hit.score, highest) if highest > 0 else Markup()
    return element(
        "li",
        element("span", str(place), class_="place", aria_hidden="true"),
        element("h2", *(title if hit.title else [hit.name]), dir="auto"),
        element("div", amount(hit.score, "score"), bar),
        element("p", hit.name, class_="id") if hit.title else Markup(),
        element("p", in_line(hit.metadata), class_="metadata") if hit.metadata else Markup(),
        element("p", *text, class_="text", dir="auto", tabindex="0"),
        *parts,
        class_="hit",
    )


def _legend(shown: Sequence[Piece]) -> list[Markup]:
    """Return the meaning of the marks that the page has."""
    lines = []
    if any(piece.value for piece in shown):
        lines.append(
            "Marked words contribute to the score. The stronger the mark, the more a word adds. If "
            "a token occurs several times, its amount is shared equally among its occurrences, "
            "unless a network distinguishes them. A dense encoder marks what exceeds its mean word."
        )
    if any(piece.by_query_token for piece in shown):
        lines.append(
            "Choose a query token to see where its amount comes from. Escape shows all marks again."
        )
    if any(piece.exact for piece in shown):
        lines.append("Underlined words were marked as exact matches before the network read them.")
    if any(not piece.read for piece in shown):
        lines.append("The network did not read the text in italics.")
    if not lines:
        lines.append("These scores have no parts by token.")
    return [element("p", line) for line in lines]


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
