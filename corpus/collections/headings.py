"""The headings of a text, and those that a part of it stands under."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Heading(NamedTuple):
    """A heading of a text: its first character there, its level from 1, and its words."""

    start: int
    level: int
    text: str


Headings = Sequence[Heading]


class Outline:
    """The headings of a text, each below those that it stands under.

    Args:
        headings: those of the text, in their order.
    """

    def __init__(self, headings: Headings) -> None:
        self._headings, self._starts = headings, [each.start for each in headings]
        self._above = list[int]()  # for each the place of the next higher one before it, or -1
        path = list[int]()
        for at, heading in enumerate(headings):
            while path and headings[path[-1]].level >= heading.level:
                path.pop()
            self._above.append(path[-1] if path else -1)
            path.append(at)

    def main_heading(self, begin: int, end: int, title: str = "") -> tuple[str, ...]:
        """Return the headings under which most of a part of the text stands, the highest first.

        >>> found = Outline([Heading(0, 1, "A"), Heading(10, 2, "B"), Heading(90, 1, "C")])
        >>> found.main_heading(5, 40), found.main_heading(80, 200), found.main_heading(0, 9, "A")
        (('A', 'B'), ('C',), ())

        Args:
            begin: the first character of the part.
            end: the character after its last one.
            title: of the document; a highest heading that says the same is left out.
        """
        starts, best, longest = self._starts, -1, 0
        for at in range(max(bisect_right(starts, begin) - 1, 0), bisect_left(starts, end)):
            after = starts[at + 1] if at + 1 < len(starts) else end
            shared = min(after, end) - max(starts[at], begin)
            if shared > longest:
                best, longest = at, shared
        if starts and starts[0] - begin > longest:
            return ()
        names = list[str]()
        while best >= 0:
            names.insert(0, self._headings[best].text)
            best = self._above[best]
        return tuple(names[1:] if names[:1] == [title] else names)


def shifted(headings: Headings, by: int) -> Headings:
    """Return the headings of a text that other characters were put before."""
    return tuple(each._replace(start=each.start + by) for each in headings)
