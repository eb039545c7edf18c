"""The Pareto frontier of points, and places for their labels that do not overlap."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

CHARACTER, LINE = (6.9, 14.0)  # width of a bold character, height of a label
GAP = 2.0  # around a label
RINGS, TURNS = 60, 24  # distances and directions that are tried


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Return whether two rectangles share more than a border."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def within(self, other: "Box") -> bool:
        """Return whether this rectangle lies in another."""
        return (
            other.left <= self.left
            and other.top <= self.top
            and self.right <= other.right
            and self.bottom <= other.bottom
        )


def frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names of the points that no other one beats, the cheapest first.

    A point (cost, value) is beaten by one that costs no more and has no lower value, and is not
    equal in both.

    >>> frontier({"a": (1, 0.5), "b": (2, 0.4), "c": (3, 0.7), "d": (3, 0.6)})
    ['a', 'c']
    """
    found: list[str] = []
    best = -math.inf
    for name in sorted(points, key=lambda each: (points[each][0], -points[each][1])):
        if points[name][1] > best or (found and points[name] == points[found[-1]]):
            found.append(name)
            best = points[name][1]
    return found


def place_labels(
    labels: Sequence[str],
    places: Sequence[tuple[float, float]],
    radius: float,
    area: Box,
    blocked: Sequence[Box] = (),
) -> list[Box]:
    """Return a rectangle for each label, near its point, that touches no other and no point.

    Args:
        labels: their texts.
        places: of the points.
        radius: of the points' marks.
        area: in which labels must lie.
        blocked: rectangles that labels may not touch.

    Raises:
        ValueError: there is no room left.
    """
    taken = [Box(x - radius, y - radius, x + radius, y + radius) for x, y in places]
    taken += blocked
    boxes: list[Box] = []
    for label, (x, y) in zip(labels, places, strict=True):
        width = CHARACTER * len(label) + 2 * GAP
        for box in _around(x, y, width, radius):
            if box.within(area) and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                boxes.append(box)
                break
        else:
            raise ValueError(f"there is no room for the label {label!r}")
    return boxes


def along(corners: Sequence[tuple[float, float]]) -> list[Box]:
    """Return a thin rectangle around each line between successive corners.

    >>> along([(0, 5), (9, 5)])
    [Box(left=-1.0, top=4.0, right=10.0, bottom=6.0)]
    """
    return [
        Box(min(x, to_x) - 1.0, min(y, to_y) - 1.0, max(x, to_x) + 1.0, max(y, to_y) + 1.0)
        for (x, y), (to_x, to_y) in pairwise(corners)
    ]


def nearest(box: Box, x: float, y: float) -> tuple[float, float]:
    """Return the point of a rectangle that is nearest to a place.

    >>> nearest(Box(0, 0, 4, 2), 9, 1)
    (4, 1)
    """
    return min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)


def _around(x: float, y: float, width: float, radius: float) -> Iterator[Box]:
    """Yield rectangles around a point, the nearest first, and to its right before others."""
    for ring in range(RINGS):
        distance = radius + GAP + ring * LINE / 2
        for turn in range(TURNS):
            side = (turn + 1) // 2 * (1 if turn % 2 else -1)  # 0, 1, −1, 2, …
            angle = 2 * math.pi * side / TURNS
            # The point of the rectangle that faces the mark lies at this distance.
            across, down = math.cos(angle), math.sin(angle)
            left = x + across * distance - width * (1 - across) / 2
            top = y + down * distance - LINE * (1 - down) / 2
            yield Box(left, top, left + width, top + LINE)
