"""Where a passage stands in its document."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from ranklet.runtime.ground.errors import damaged


class Location(NamedTuple):
    """Where a passage stands in the text of its document.

    Attributes:
        start: its first character.
        before: the white space before it that no passage has.
        heading: the headings that it stands under, the highest first.
    """

    start: int
    before: str = ""
    heading: tuple[str, ...] = ()

    def stored(self) -> str:
        r"""Return the location as a bundle has it.

        >>> Location(12, "\n\n", ("Bread", "Dough")).stored()
        '\n\n12\nBread\nDough'
        """
        return "\n".join([f"{self.before}{self.start}", *self.heading])

    @classmethod
    def read(cls, stored: str) -> Self | None:
        r"""Return a location that a bundle has; None for a text that is no part of a longer one.

        >>> Location.read("\n\n12\nBread\nDough")
        Location(start=12, before='\n\n', heading=('Bread', 'Dough'))

        Raises:
            BundleError: it is none.
        """
        if not stored:
            return None
        rest = stored.lstrip()
        start, *heading = rest.split("\n")
        if not (start.isascii() and start.isdigit() and len(start) <= _DIGITS):
            raise damaged(f"a passage begins at {start!r:.20}, which is no number")
        return cls(int(start), stored[: len(stored) - len(rest)], tuple(heading))


BELOW = " › "  # before a heading


def with_headings(title: str, heading: Iterable[str]) -> str:
    """Return the title of a passage: that of its document, and the headings it stands under.

    >>> with_headings("Bread", ["Dough"]), with_headings("", ["Dough"])
    ('Bread › Dough', 'Dough')
    """
    return BELOW.join(filter(None, [title, *heading]))


def without_headings(title: str, location: Location | None) -> str:
    """Return the title of a passage's document.

    >>> without_headings("Bread › Dough", Location(0, "", ("Dough",)))
    'Bread'
    """
    if location is None or not location.heading:
        return title
    return title.removesuffix(BELOW.join(location.heading)).removesuffix(BELOW)


_DIGITS = 10  # of the longest text's length


def joined(passages: Iterable[tuple[Location, str]]) -> str:
    r"""Return the text, or the part of one, that passages are of, without what they repeat.

    >>> joined([(Location(0), "One. Two."), (Location(5), "Two. Three."), (Location(17, " "), "4")])
    'One. Two. Three. 4'

    Args:
        passages: the location and the text of each, in their order.
    """
    parts, end = list[str](), -1
    for (start, before, _), text in passages:
        known = max(0, end - start) if parts else 0
        parts += [before if start >= end else "", text[known:]] if parts else [text]
        end = max(end, start + len(text))
    return "".join(parts)
