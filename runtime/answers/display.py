"""Show a ranking in a notebook: an HTML table with the matching words marked."""

from collections.abc import Sequence
from typing import NamedTuple

from ranklet.runtime.answers.highlight import Span
from ranklet.runtime.answers.snippet import window

SHOWN = 400  # characters of a text
LEAST = 0.2  # of the strongest span; weaker ones are not marked, because all marks look alike


class Row(NamedTuple):
    """A hit in a table."""

    id: str
    score: float
    title: str
    text: str
    marks: Sequence[tuple[int, int]]  # characters of ``title + newline + text``, (begin, end)


def table(query: str, rows: Sequence[Row], meant: str | None = None) -> str:
    """Return a table of hits, whose texts are always escaped, and what may have been meant."""
    lines = "".join(_line(rank, row) for rank, row in enumerate(rows, start=1))
    hits = f"{len(rows):,} hit{'s' if len(rows) != 1 else ''}"
    asked = "" if meant is None else f". Did you mean “{_escaped(meant)}”?"
    return f"<table><caption>{hits} for “{_escaped(query)}”{asked}</caption>{lines}</table>"


def _line(rank: int, row: Row) -> str:
    begins = len(row.title) + 1
    title = mark_html(row.title, row.marks)
    own = [(max(0, begin - begins), end - begins) for begin, end in row.marks if end > begins]
    begin, end = window(row.text, own, SHOWN)
    inside = [(b - begin, min(e, end) - begin) for b, e in own if begin <= b < end]
    text = mark_html(row.text[begin:end], inside)
    text = ("…" if begin else "") + text + ("…" if end < len(row.text) else "")
    cells = (f"{rank}.", f"{row.score:.4g}", _escaped(row.id), f"<b>{title}</b><br>{text}")
    return "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"


def mark_html(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """Return escaped text with ``<mark>`` around some characters.

    >>> mark_html("a < bc", [(4, 6)])
    'a &lt; <mark>bc</mark>'

    Args:
        text: plain text.
        marks: (begin, end), which may overlap; what is past the text is not marked.
    """
    html, at = "", 0
    for begin, end in sorted(marks):
        begin, end = max(at, begin), min(end, len(text))
        if begin < end:
            html += f"{_escaped(text[at:begin])}<mark>{_escaped(text[begin:end])}</mark>"
            at = end
    return html + _escaped(text[at:])


def _escaped(text: str) -> str:
    from html import escape  # its table of entities is for notebooks only

    return escape(text)


def strongest(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Return the places that add most, in text order.

    >>> strongest([Span(0, 3, 0.5), Span(4, 9, 0.05), Span(12, 15, 0.1), Span(20, 22, -1.0)])
    [(0, 3), (12, 15)]
    """
    least = LEAST * max((span.value for span in spans), default=0.0)
    return [(span.begin, span.end) for span in spans if span.value >= least > 0]
