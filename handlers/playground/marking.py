"""Mark the characters of a text that its score comes from."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ranklet.handlers.playground.words import ENGLISH, Words
from ranklet.runtime.answers.display import strongest
from ranklet.runtime.answers.highlight import Span
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.answers.snippet import window

SHOWN = 320  # characters of a text that are shown at first
LEAST = 0.02  # of the strongest mark; weaker ones are not shown
STEPS = 10  # how many strengths of marks the style has


def read_spans(places: Sequence[Mapping[str, Any]]) -> list[Span]:
    """Return the spans of an answer's `highlights`."""
    return [Span(each["begin"], each["end"], each["value"]) for each in places]


def marked(text: str, spans: Sequence[Span], largest: float, words: Words = ENGLISH) -> Markup:
    """Return a text with marks, each as strong as its share of the largest.

    >>> marked("a < b", [Span(0, 1, 0.5)], 0.5)
    '<mark class="m10" title="adds 0.5000">a</mark> &lt; b'
    """
    children: list[str] = []
    goes_on = False  # whether the piece before is marked, too
    for piece, value in _pieces(text, spans):
        share = min(1.0, value / largest) if largest > 0 else 0.0
        if share < LEAST:
            children.append(piece)
        elif piece:
            strength = f"m{max(1, round(share * STEPS))}{' went-on' if goes_on else ''}"
            children.append(
                element("mark", piece, class_=strength, title=words("adds", value=f"{value:.4f}"))
            )
        goes_on = share >= LEAST
    return join(*children)


def best_part(text: str, spans: Sequence[Span], largest: float, words: Words = ENGLISH) -> Markup:
    """Return the part of a text with the most different marks, with its marks."""
    begin, end = window(text, strongest(spans), SHOWN)
    inside = [
        Span(max(0, each.begin - begin), min(each.end, end) - begin, each.value)
        for each in spans
        if each.begin < end and each.end > begin
    ]
    more = "… " if begin else "", " …" if end < len(text) else ""
    return join(more[0], marked(text[begin:end], inside, largest, words), more[1])


def _pieces(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, float]]:
    """Yield the pieces between the edges of spans; the values of overlapping spans add up."""
    changes: dict[int, float] = defaultdict(float, {0: 0.0, len(text): 0.0})
    for begin, end, value in spans:
        changes[begin] += value
        changes[end] -= value
    edges = sorted(edge for edge in changes if edge <= len(text))
    value = 0.0
    for begin, end in pairwise(edges):
        value += changes[begin]
        yield text[begin:end], value
