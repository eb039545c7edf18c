"""Quality against the time of a query: words, a table of vectors for queries, and a network.

Both are read from the sections `query_table` and `query_table_time`, so these are measured first.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from math import log2
from statistics import mean
from typing import NamedTuple

from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import RESULTS, table

PACKAGES = ()
PICTURE = ROOT / "docs" / "quality-and-time.svg"
# The systems of the one section by those of the other, and their colours.
SYSTEMS = {
    "BM25": ("BM25", "#777777"),
    "BM25 + table": ("BM25 + table (all)", "#0072b2"),
    "BM25 + network": ("BM25 + network", "#d55e00"),
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BELOW = 680, 380, 60, 150, 40, 50  # pixels
MEAN = "mean"  # of all collections, as the table calls it
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)  # ms


At = Callable[[float, float], tuple[float, float]]  # the place of milliseconds and quality


class Point(NamedTuple):
    """A system on a collection."""

    system: str
    ms: float  # of a processor, for a query
    quality: float  # nDCG@10


def run(place: Place) -> str:  # noqa: ARG001
    """Draw the picture of docs/, and return what it shows."""
    found = points((RESULTS / "dense.md").read_text("utf-8"))
    PICTURE.write_text(picture(found), "utf-8")
    rows = [[each.system, f"{each.ms:.2f}", each.quality] for each in found[MEAN]]
    head = table(["mean", "processor ms per query", "nDCG@10"], rows)
    return f"![Quality against time](../../docs/{PICTURE.name})\n\n{head}"


def points(page: str) -> dict[str, list[Point]]:
    """Return the systems of each collection, and of their mean, in their order.

    The time of a system is its mean over the collections that were timed, which differ little.
    """
    head, *ranked = _rows(page, "query_table")
    timed = list(_rows(page, "query_table_time"))[1:]
    ms = {system: mean(float(row[2]) for row in timed if row[1] == system) for system in SYSTEMS}
    quality = {own[0]: dict(zip(head, own, strict=True)) for own in ranked}
    return {
        name: [
            Point(system, ms[system], float(own[column].rstrip("*")))
            for system, (column, _) in SYSTEMS.items()
        ]
        for name, own in quality.items()
    }


def _rows(page: str, section: str) -> Iterator[list[str]]:
    """Yield the cells of each line of a section's first table but the line of dashes."""
    (body,) = re.findall(rf"<!-- begin {section} -->(.*?)<!-- end {section} -->", page, re.DOTALL)
    lines = re.findall(r"(?:^\|.*\n)+", body, re.MULTILINE)[0].splitlines()
    for line in (*lines[:1], *lines[2:]):
        yield [cell.strip() for cell in line.strip("|").split("|")]


def picture(found: dict[str, list[Point]]) -> str:
    """Return an SVG with a line per collection, and a bold one of their mean."""
    every = [point for own in found.values() for point in own]
    least, most = min(each.quality for each in every), max(each.quality for each in every)
    least, most = int(least * 20) / 20, (int(most * 20) + 1) / 20
    ticks = [each for each in TICKS if each <= 2 * max(point.ms for point in every)]

    def at(ms: float, quality: float) -> tuple[float, float]:
        across = (log2(ms) - log2(ticks[0])) / (log2(ticks[-1]) - log2(ticks[0]))
        up = (quality - least) / (most - least)
        right, down = LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BELOW
        return round(right, 1), round(down - up * (down - TOP), 1)

    drawn = list(_axes(at, ticks, least, most))
    for name, own in found.items():
        places, bold = [at(each.ms, each.quality) for each in own], name == MEAN
        line = " ".join(f"{x},{y}" for x, y in places)
        colour, thick = ("#333333", 2.5) if bold else ("#cccccc", 1)
        drawn.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
        )
        drawn += [
            f'<circle cx="{x}" cy="{y}" r="{6 if bold else 3}" fill="{SYSTEMS[each.system][1]}"/>'
            for (x, y), each in zip(places, own, strict=True)
        ]
        if bold:
            x, y = places[-1]
            drawn.append(_text(x + 10, y + 4, f"mean of {len(found) - 1} collections"))
    for row, (name, (_, colour)) in enumerate(SYSTEMS.items()):
        y = HEIGHT - BELOW - 12 - 18 * (len(SYSTEMS) - 1 - row)
        drawn.append(f'<circle cx="{WIDTH - RIGHT + 26}" cy="{y - 4}" r="5" fill="{colour}"/>')
        drawn.append(_text(WIDTH - RIGHT + 36, y, name))
    content = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">\n<title>Quality against the time of a query'
        f'</title>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{content}\n</svg>\n'
    )


def _axes(at: At, ticks: Sequence[float], least: float, most: float) -> Iterator[str]:
    """Yield the axes with their marks."""
    for ms in ticks:
        x, y = at(ms, least)
        yield _text(x, y + 18, f"{ms:g}", "middle")
    for step in range(round((most - least) * 20) + 1):
        value = least + step / 20
        (x, y), (end, _) = at(ticks[0], value), at(ticks[-1], value)
        yield f'<path d="M{x} {y}H{end}" stroke="#eeeeee"/>'
        yield _text(x - 8, y + 4, f"{value:.2f}", "end")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(middle, HEIGHT - 10, "milliseconds of a processor per query", "middle")
    yield _text(LEFT - 50, TOP - 20, "nDCG@10")


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'
