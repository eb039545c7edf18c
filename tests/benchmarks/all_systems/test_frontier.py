"""The Pareto frontier against its definition, and labels that do not overlap."""

from itertools import combinations

import numpy as np
import pytest
from benchmarks.all_systems.frontier import Box, along, frontier, place_labels

AREA = Box(0, 0, 900, 600)


def test_the_frontier_has_all_points_that_no_other_beats() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 12, (60, 2)).astype(float)  # small numbers, so that many are equal
    points = {str(at): (x, y) for at, (x, y) in enumerate(drawn.tolist())}
    wanted = {
        name
        for name, (cost, value) in points.items()
        if not any(
            other_cost <= cost and other >= value and (other_cost, other) != (cost, value)
            for other_cost, other in points.values()
        )
    }
    found = frontier(points)
    assert set(found) == wanted
    assert [points[name][0] for name in found] == sorted(points[name][0] for name in found)


def test_labels_touch_neither_one_another_nor_points_nor_lines() -> None:
    rng = np.random.default_rng(1)
    places = [(float(x), float(y)) for x, y in rng.uniform((60, 60), (500, 300), (25, 2))]
    labels = [f"a system with a name of its own {at}" for at in range(25)]
    lines = along([(10, 200), (300, 200), (300, 100)])
    boxes = place_labels(labels, places, 6, AREA, lines)
    marks = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    assert len(boxes) == 25
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert not any(box.overlaps(other) for box in boxes for other in (*marks, *lines))
    assert all(box.within(AREA) for box in boxes)


def test_a_label_without_room_is_reported() -> None:
    with pytest.raises(ValueError, match="no room for the label 'much too long'"):
        place_labels(["much too long"], [(10, 10)], 5, Box(0, 0, 20, 20))
