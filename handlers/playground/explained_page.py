"""Explained hits as one HTML file, which needs no server, no network and no script."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from ranklet.handlers.api.answers import write_hit
from ranklet.handlers.api.limits import Room
from ranklet.handlers.playground.cards import cards
from ranklet.runtime.answers.html import GENERATOR
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Hit
from ranklet.runtime.storage.package_files import package_text

FOLDER = Path(__file__).parent
LARGEST = 1 << 30  # bytes; a file may be larger than the answer of a server


def explained_page(bundle: Bundle, query: str, hits: Sequence[Hit]) -> str:
    """Return an HTML page that explains hits of one query.

    Raises:
        BundleError: the bundle is damaged.
        RequestError: the page would be larger than `LARGEST`.
    """
    room = Room(LARGEST)
    shown = [write_hit(bundle, hit, room) for hit in hits]
    html = Template(package_text(FOLDER / "explained.html")).substitute(
        generator=GENERATOR,
        title=escape(query),
        status="" if hits else "No hits for this query.",
        style=package_text(FOLDER / "style.css"),
        hits=cards(shown, bundle.metadata, opened=("why",)),
    )
    return html.encode("utf-8", "replace").decode()  # half a character has no place in a file
