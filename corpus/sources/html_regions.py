"""The regions of a page: its own text, and what all pages of a site repeat."""

import re
from collections import Counter
from enum import IntEnum

# Elements and roles: https://www.w3.org/TR/html-aria/
_REPEATED = frozenset((
    "nav", "navigation", "menu", "menubar", "search", "dialog", "alertdialog",
))  # fmt: skip
# Those of a page, while those of an article are its own.
_REPEATED_OUTSIDE = frozenset((
    "header", "footer", "aside", "banner", "contentinfo", "complementary",
))  # fmt: skip
_ROLE = re.compile(r"""\srole\s*=\s*["']?\s*([a-z]+)""", re.IGNORECASE)
_LONGEST = 500  # characters of a tag that are tried, because trying takes quadratic time
# What pages call the same where they have no elements for it, or none exist.
_BOXES = frozenset(("div", "section", "form", "ul", "table"))
_NAMED = r"""\s(?:id|class)\s*=\s*["']?(?:[^"'>]*\s)?"""
_COOKIES = re.compile(rf"""{_NAMED}[^"'>\s]*(?:cookie|consent)""", re.IGNORECASE)
_CALLED = re.compile(
    rf"""{_NAMED}(?:(?:page|site|main|global|top|bottom)[-_]?)?
    (?:header|footer|side-?bar|breadcrumbs?|(?:sub)?menu|nav(?:igation)?(?:bar|header|footer)?)
    (?=["'>\s])""",
    re.IGNORECASE | re.VERBOSE,
)


class Place(IntEnum):
    """Where a text stands; a higher place is more surely the page's own."""

    REPEATED = 0
    OTHER = 1
    ARTICLE = 2  # the page's, or one of several, or of those that a page refers to
    MAIN = 3


class Region:
    """A part of a page whose texts stand in one place."""

    def __init__(self, place: Place) -> None:
        self.place = place


class Regions:
    """The regions that are open while a page is read from left to right.

    Attributes:
        region: the innermost one.
    """

    def __init__(self) -> None:
        self.region = Region(Place.OTHER)
        self._depth = Counter[str]()  # open elements of each name
        self._open: list[tuple[str, Region]] = []  # elements that began regions, and those around
        self._begun: dict[str, list[int]] = {}  # depths of these by their names

    def open(self, name: str, tag: str) -> None:
        """Begin an element."""
        self._depth[name] += 1
        place = _place(self.region.place, name, tag)
        if place != self.region.place:
            self._open.append((name, self.region))
            self._begun.setdefault(name, []).append(self._depth[name])
            self.region = Region(place)

    def close(self, name: str) -> None:
        """End an element, and regions that began in it."""
        self._depth[name] = max(0, self._depth[name] - 1)
        begun = self._begun.get(name, ())
        while begun and begun[-1] > self._depth[name]:
            inner, self.region = self._open.pop()
            self._begun[inner].pop()

    def finish(self) -> None:
        """End the page; a region that never ended was none, because it would hide too much."""
        for _, around in reversed(self._open):
            self.region.place = around.place
            self.region = around


def _place(around: Place, name: str, tag: str) -> Place:
    """Return where the text of an element stands."""
    tag = tag[:_LONGEST]
    found = _ROLE.search(tag)
    names = {name, found[1].lower()} if found else {name}
    if "main" in names:
        return Place.MAIN
    if around is Place.REPEATED:
        return around
    box = name in _BOXES
    if names & _REPEATED or (box and _COOKIES.search(tag)):
        return Place.REPEATED
    if around is Place.OTHER and (names & _REPEATED_OUTSIDE or (box and _CALLED.search(tag))):
        return Place.REPEATED
    return max(around, Place.ARTICLE) if "article" in names else around
