"""Draw a line chart as SVG, whose colours are those of the page around it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ranklet.runtime.html import Markup, element

WIDTH, HEIGHT = 720, 260  # of the drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 92, 20, 14, 44  # space around the lines
TICKS = 5  # labels per axis, about
SMALL = 1e-3  # numbers below are written with a power of ten
POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Series:
    """What a chart shows.

    Attributes:
        across: name and unit of the horizontal axis.
        up: name and unit of the vertical axis.
        points: (x, y), at least one; x ascending unless they have names.
        dots: whether each point has a dot.
        best: the point that is marked; None for none.
        level: name and y of a horizontal line to compare with; None for none.
        names: a text beside each point, which no line joins to the next one then.
    """

    across: str
    up: str
    points: Sequence[tuple[float, float]]
    dots: bool = False
    best: tuple[float, float] | None = None
    level: tuple[str, float] | None = None
    names: Sequence[str] = ()


def chart(series: Series) -> Markup:
    """Return a chart, an ``svg`` element."""
    xs, ys = zip(*series.points, strict=True)
    levels = [series.level[1]] if series.level else []
    x_low, x_high = _range([0.0, *xs])
    y_low, y_high = _range([*ys, *levels])

    def x_at(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - x_low) / (x_high - x_low)

    def y_at(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - y_low) / (y_high - y_low)

    about = f"{series.up}, from {number(ys[0])} to {number(ys[-1])}"
    parts = []
    for y in ticks(y_low, y_high):
        parts.append(_line("grid", LEFT, y_at(y), WIDTH - RIGHT, y_at(y)))
        parts.append(_text(number(y), LEFT - 8, y_at(y) + 4, "end"))
    for x in ticks(x_low, x_high):
        parts.append(_line("tick", x_at(x), HEIGHT - BOTTOM, x_at(x), HEIGHT - BOTTOM + 5))
        parts.append(_text(number(x), x_at(x), HEIGHT - BOTTOM + 19, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"rotate(-90 14 {middle:g})"
    parts += [
        _line("axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM),
        _text(series.across, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, "middle", "unit"),
        _text(series.up, 14, middle, "middle", "unit", transform=turned),
    ]
    if series.level:
        name, y = series.level
        parts.append(_line("level", LEFT, y_at(y), WIDTH - RIGHT, y_at(y)))
        parts.append(_text(f"{name} {y:.4f}", WIDTH - RIGHT, y_at(y) - 6, "end", "level"))
    for name, (x, y) in zip(series.names, series.points, strict=False):
        right = 2 * x > x_low + x_high  # where a name would not fit behind its point
        place, anchor = (x_at(x) - 9, "end") if right else (x_at(x) + 9, "start")
        parts.append(_text(name, place, y_at(y) + 4, anchor))
    if not series.names:
        path = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in series.points)
        parts.append(element("polyline", points=path, class_="line"))
    for x, y in series.points if series.dots else ():
        mark, radius = ("dot best", "6") if (x, y) == series.best else ("dot", "3.5")
        title = element("title", f"{series.across} {number(x)}: {y:.4f}")
        where = {"cx": f"{x_at(x):.1f}", "cy": f"{y_at(y):.1f}", "r": radius}
        parts.append(element("circle", title, **where, class_=mark))
    size = f"0 0 {WIDTH} {HEIGHT}"
    return element("svg", *parts, viewBox=size, role="img", aria_label=about)


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers from low to high, about `TICKS` of them.

    >>> ticks(0, 97)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    >>> ticks(0.61, 0.69)
    [0.62, 0.64, 0.66, 0.68]
    """
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(at * step, digits) for at in range(first, last + 1)]


def number(value: float) -> str:
    """Return a number as people write it.

    >>> number(12000), number(0.25), number(0.00002)
    ('12,000', '0.25', '2·10⁻⁵')
    """
    if value and abs(value) < SMALL:
        power = math.floor(math.log10(abs(value)))
        return f"{value / 10**power:.3g}·10{str(power).translate(POWERS)}"
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis, which begins with 0 if that is near."""
    low, high = min(values), max(values)
    if low == high:
        return (low - 0.5, high + 0.5) if low else (0.0, 1.0)
    if 0 <= low < high / 2:
        return 0.0, high
    margin = (high - low) / 12
    return low - margin, high + margin


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", class_=kind, **{name: f"{value:.1f}" for name, value in ends.items()})


def _text(text: str, x: float, y: float, anchor: str, kind: str = "label", **more: str) -> Markup:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    return element("text", text, **place, **more, class_=kind)
