"""A picture of quality against time, as SVG: shapes say what a network reads, not only colours."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from benchmarks.all_systems.frontier import GAP, Box, along, frontier, nearest, place_labels
from benchmarks.all_systems.studies import Reads
from ranklet.training.report.chart import number, ticks

WIDTH, HEIGHT = 1200, 800
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 60, 56  # space around the plot
RADIUS = 6.0
MARGIN = 0.06  # of the range of a measure, above and below
COLOURS = {Reads.NOTHING: "#0b6e4f", Reads.QUERY: "#1f4e9c", Reads.PAIRS: "#a3341f"}
WORDS = {
    Reads.NOTHING: "no network at query time",
    Reads.QUERY: "a network reads the query once",
    Reads.PAIRS: "a network reads every pair",
}
STYLE = """
text { font: 12px sans-serif; fill: #1a1a1a; }
.title { font-size: 15px; font-weight: bold; }
.best { font-weight: bold; }
.grid { stroke: #dddddd; }
.axis { stroke: #1a1a1a; }
.lead { stroke: #8a8a8a; stroke-width: 0.8; }
.frontier { fill: none; stroke: #1a1a1a; stroke-width: 1.4; stroke-dasharray: 6 4; }
"""


class Point(NamedTuple):
    """A system in the picture.

    Attributes:
        name: its label.
        ms: p50, above 0.
        value: its quality.
        reads: what networks read.
        filled: whether it fuses several rankers.
    """

    name: str
    ms: float
    value: float
    reads: Reads
    filled: bool


def draw(points: Sequence[Point], title: str, measure: str, target: Path) -> None:
    """Write a picture of points, all labelled, with their Pareto frontier."""
    tree = ElementTree(picture(points, title, measure))
    indent(tree)
    tree.write(target, encoding="unicode")
    with target.open("a") as file:
        file.write("\n")


def picture(points: Sequence[Point], title: str, measure: str) -> Element:
    """Return the picture, an ``svg`` element."""
    low, high = _span([each.value for each in points])
    # Whole powers of ten, so that the ends of the axis have labels.
    first = math.floor(math.log10(min(each.ms for each in points)))
    last = max(first + 1, math.ceil(math.log10(max(each.ms for each in points))))

    def x_at(ms: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(ms) - first) / (last - first)

    def y_at(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    size = {"width": str(WIDTH), "height": str(HEIGHT), "viewBox": f"0 0 {WIDTH} {HEIGHT}"}
    about = {"role": "img", "aria-label": f"{title}: {measure} against milliseconds"}
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **about})
    SubElement(svg, "style").text = STYLE
    SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _text(svg, title, LEFT, 22, "title")
    _legend(svg)
    for value in ticks(low, high):
        _line(svg, "grid", LEFT, y_at(value), WIDTH - RIGHT, y_at(value))
        _text(svg, number(value), LEFT - 8, y_at(value) + 4, anchor="end")
    for power in range(first, last + 1):
        ms = 10.0**power
        _line(svg, "grid", x_at(ms), TOP, x_at(ms), HEIGHT - BOTTOM)
        _text(svg, number(ms), x_at(ms), HEIGHT - BOTTOM + 18, anchor="middle")
    _line(svg, "axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM)
    _line(svg, "axis", LEFT, TOP, LEFT, HEIGHT - BOTTOM)
    middle = (LEFT + WIDTH - RIGHT) / 2
    _text(svg, "ms per query, p50, one thread (logarithmic)", middle, HEIGHT - 14, anchor="middle")
    _text(svg, measure, 12, TOP - 10)
    best = frontier({each.name: (each.ms, each.value) for each in points})
    stairs = _stairs([(x_at(each.ms), y_at(each.value)) for each in _named(points, best)])
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in stairs)
    SubElement(svg, "polyline", {"points": path, "class": "frontier"})
    places = [(x_at(each.ms), y_at(each.value)) for each in points]
    area = Box(LEFT + 4, TOP, WIDTH - 2, HEIGHT - BOTTOM - 2)
    boxes = place_labels([each.name for each in points], places, RADIUS, area, along(stairs))
    for each, (x, y), box in zip(points, places, boxes, strict=True):
        to_x, to_y = nearest(box, x, y)
        if math.dist((x, y), (to_x, to_y)) > RADIUS + 2 * GAP:
            _line(svg, "lead", x, y, to_x, to_y)
        label = _text(
            svg, each.name, box.left + GAP, box.bottom - 3, "best" if each.name in best else ""
        )
        SubElement(label, "title").text = f"{each.value:.4f}, {each.ms:.2f} ms"
    for each, (x, y) in zip(points, places, strict=True):  # above the lines
        _mark(svg, each.reads, x, y, filled=each.filled)
    return svg


def _named(points: Sequence[Point], names: Sequence[str]) -> list[Point]:
    by_name: Mapping[str, Point] = {each.name: each for each in points}
    return [by_name[name] for name in names]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis with some room at both."""
    low, high = min(values), max(values)
    room = MARGIN * (high - low) or 0.05
    return low - room, high + room


def _stairs(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the line of what can be had for each time, from left to right."""
    path = [corners[0]]
    for x, y in corners[1:]:
        path += [(x, path[-1][1]), (x, y)]
    return [*path, (WIDTH - RIGHT, path[-1][1])]


def _legend(svg: Element) -> None:
    x = LEFT + 90.0
    for reads, words in WORDS.items():
        _mark(svg, reads, x, 42, filled=True)
        _text(svg, words, x + 12, 46)
        x += 34 + 6.3 * len(words)
    _mark(svg, Reads.NOTHING, x, 42, filled=False)
    _text(svg, "hollow: nothing is fused", x + 12, 46)
    x += 175
    SubElement(svg, "polyline", {"points": f"{x},42 {x + 36},42", "class": "frontier"})
    _text(svg, "best for its time (bold)", x + 44, 46)


def _mark(svg: Element, reads: Reads, x: float, y: float, *, filled: bool) -> None:
    """Draw a circle, a square or a triangle."""
    colour = COLOURS[reads]
    look = {"fill": colour if filled else "#ffffff", "stroke": colour, "stroke-width": "1.8"}
    if reads == Reads.NOTHING:
        round_ = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{RADIUS - 1:g}"}
        SubElement(svg, "circle", {**round_, **look})
        return
    corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    if reads == Reads.PAIRS:
        corners = [(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)]
    size = RADIUS - 1
    path = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    SubElement(svg, "polygon", {"points": path, **look})


def _line(svg: Element, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    SubElement(svg, "line", {"class": kind, **{key: f"{at:.1f}" for key, at in ends.items()}})


def _text(
    svg: Element, words: str, x: float, y: float, kind: str = "", *, anchor: str = "start"
) -> Element:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    made = SubElement(svg, "text", {**place, "class": kind} if kind else place)
    made.text = words
    return made
