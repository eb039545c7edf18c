"""The headings of a text, and those that a part of it stands under."""

from collections.abc import Sequence
from typing import NamedTuple


class Heading(NamedTuple):
    """A heading of a text: its first character there, its level from 1, and its words."""

    start: int
    level: int
    text: str


Headings = Sequence[Heading]


def main_heading(headings: Headings, begin: int, end: int, title: str = "") -> tuple[str, ...]:
    """Return the headings under which most of a part of a text stands, the highest first.

    >>> found = [Heading(0, 1, "Bread"), Heading(10, 2, "Dough"), Heading(90, 1, "Cake")]
    >>> main_heading(found, 5, 40), main_heading(found, 80, 200), main_heading(found, 0, 9, "Bread")
    (('Bread', 'Dough'), ('Cake',), ())

    Args:
        headings: those of the text, in their order.
        begin: the first character of the part.
        end: the character after its last one.
        title: of the document; a highest heading that says the same is left out.
    """
    best, path, longest = list[Heading](), list[Heading](), 0
    ends = [each.start for each in headings[1:]]
    for heading, after in zip(headings, [*ends, end], strict=False):
        path = [each for each in path if each.level < heading.level] + [heading]
        shared = min(after, end) - max(heading.start, begin)
        if shared > longest:
            best, longest = path, shared
    if headings and headings[0].start - begin > longest:
        return ()
    names = tuple(each.text for each in best)
    return names[1:] if names[:1] == (title,) else names


def shifted(headings: Headings, by: int) -> Headings:
    """Return the headings of a text that other characters were put before."""
    return tuple(each._replace(start=each.start + by) for each in headings)
