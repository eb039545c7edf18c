from itertools import pairwise
from xml.etree.ElementTree import Element, fromstring

import pytest

from ranklet.training.report.chart import HEIGHT, WIDTH, Series, chart, ticks


def parsed(svg: str) -> Element:
    return fromstring(svg)  # noqa: S314, which is for text of others


@pytest.mark.parametrize(
    "points",
    [
        [(0, 0.25)],
        [(1, 0.0), (2, 0.0)],
        [(1, 1e-9), (2, 2e-5), (900, 0.0)],
        [(1, -2e6), (5, -1.1e6)],
        [(step, step % 7) for step in range(1000)],
    ],
)
def test_every_point_lies_in_the_drawing(points: list[tuple[float, float]]) -> None:
    drawn = parsed(chart(Series("steps", "loss", points, dots=True, level=("BM25", 0.5))))
    (line,) = drawn.findall("polyline")
    places = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    assert len(places) == len(points)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    texts = [each.text for each in drawn.iter("text")]
    assert {"steps", "loss", "BM25 0.5000"} <= set(texts)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 2e-5), (-3e6, -1e6), (0.731, 0.7312)])
def test_ticks_are_round_evenly_spaced_and_within_the_axis(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-12 <= each <= high + 1e-12 for each in found)
    steps = [two - one for one, two in pairwise(found)]
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_text_is_escaped() -> None:
    assert "&lt;b&gt;" in chart(Series("<b>", "loss", [(0, 1)]))
