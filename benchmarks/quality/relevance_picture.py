"""Draw how true relevance is: a reliability diagram per collection, and errors by judgements."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BINS = 8  # of a diagram, with equally many queries each
COLOURS = ("#1f6fb4", "#c4501b", "#3f8f3f")
ACROSS, SIDE, GAP, TOP = 5, 150, 46, 34  # panels in a row, and pixels
_STYLE = "font:11px system-ui,sans-serif;fill:#222"


class Told(NamedTuple):
    """What the best hits of a collection's queries were said to be, and what they are."""

    likely: NDArray[np.float64]  # probabilities, (queries,)
    right: NDArray[np.float64]  # 1 or 0, (queries,)


def bins(told: Told) -> list[tuple[float, float]]:
    """Return the mean probability and the share of right hits of each bin, ascending.

    >>> bins(Told(np.array([0.1, 0.9]), np.array([0.0, 1.0])))
    [(0.1, 0.0), (0.9, 1.0)]
    """
    order = np.argsort(told.likely, kind="stable")
    parts = np.array_split(order, min(BINS, len(order)))
    return [(float(told.likely[each].mean()), float(told.right[each].mean())) for each in parts]


def picture(
    told: Mapping[str, Mapping[str, Told]],
    errors: Mapping[str, Sequence[float]],
    judged: Sequence[int],
) -> str:
    """Return an SVG.

    Args:
        told: by collection and system.
        errors: the mean calibration error after so many judged queries, by system.
        judged: these numbers of queries.
    """
    systems = list(errors)
    panels = [_curve(errors, judged)]
    panels += [_diagram(name, own, systems) for name, own in told.items()]
    rows = -(-len(panels) // ACROSS)
    width, height = ACROSS * (SIDE + GAP) + GAP // 2, rows * (SIDE + GAP) + TOP + 8
    placed = [
        f'<g transform="translate({GAP * 3 // 4 + at % ACROSS * (SIDE + GAP)},'
        f'{TOP + 14 + at // ACROSS * (SIDE + GAP)})">{panel}</g>'
        for at, panel in enumerate(panels)
    ]
    legend = "".join(
        f'<circle cx="{GAP + 170 * at}" cy="14" r="5" fill="{colour}"/>'
        f'<text x="{GAP + 10 + 170 * at}" y="18">{escape(name)}</text>'
        for at, (name, colour) in enumerate(
            [
                *zip(systems, COLOURS, strict=False),
                ("across: told, up: share of right hits", "none"),
            ]
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" style="{_STYLE}">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{legend}{"".join(placed)}</svg>\n'
    )


def _diagram(name: str, own: Mapping[str, Told], systems: Sequence[str]) -> str:
    lines = [_line([(0, 0), (1, 1)], "#999", dashed=True)]
    lines += [_line(bins(own[each]), COLOURS[at]) for at, each in enumerate(systems) if each in own]
    return _panel(name, lines, ("0", "told", "1"), ("0", "1"))


def _curve(errors: Mapping[str, Sequence[float]], judged: Sequence[int]) -> str:
    steps = np.linspace(0, 1, len(judged)).tolist()
    lines = [
        _line([(x, each / 0.1) for x, each in zip(steps, own, strict=True)], COLOURS[at])
        for at, own in enumerate(errors.values())
    ]
    return _panel("error by judged queries", lines, list(map(str, judged)), ("0", ".1"))


def _panel(name: str, lines: Sequence[str], below: Sequence[str], left: tuple[str, str]) -> str:
    places = np.linspace(0, SIDE, len(below)).tolist()
    ticks = "".join(
        f'<text x="{x:g}" y="{SIDE + 14}" text-anchor="middle">{each}</text>'
        for x, each in zip(places, below, strict=True)
    )
    ticks += "".join(
        f'<text x="-4" y="{y}" text-anchor="end">{each}</text>'
        for y, each in zip((SIDE, 10), left, strict=True)
    )
    frame = f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#bbb"/>'
    return f'<text y="-5">{escape(name)}</text>{frame}{"".join(lines)}{ticks}'


def _line(points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> str:
    path = " ".join(f"{x * SIDE:.1f},{(1 - y) * SIDE:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x * SIDE:.1f}" cy="{(1 - y) * SIDE:.1f}" r="2.5" fill="{colour}"/>'
        for x, y in points
    )
    dash = ' stroke-dasharray="4 4"' if dashed else ""
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>'
    return line if dashed else line + dots
