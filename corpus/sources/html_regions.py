"""The regions of a page: its own text, and what all pages of a site repeat."""

import re
from collections import Counter
from enum import IntEnum

# Elements and roles: https://www.w3.org/TR/html-aria/
_REPEATED = frozenset((
    "nav", "navigation", "menu", "menubar", "search", "dialog", "alertdialog",
))  # fmt: skip
# Those of a page, while those of an article are its own.
_HEADERS = frozenset(("header", "banner"))
_REPEATED_OUTSIDE = frozenset(("footer", "aside", "contentinfo", "complementary"))
_ROLE = re.compile(r"""\srole\s*=\s*["']?\s*([a-z]+)""", re.IGNORECASE)
_OPEN = re.compile(r"\sopen(?=[\s=/>])", re.IGNORECASE)  # of a dialog, which pages show then
_LONGEST = 500  # characters of a tag that are tried, because trying takes quadratic time
# What pages call the same where they have no elements for it, or none exist. Names are only asked
# outside of <main> and <article>, because a recipe may be one of cookies.
_BOXES = frozenset(("div", "section", "form", "ul", "table", "dialog"))
_NAMES = re.compile(r"""\s(?:id|class)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_PREFIX = "(?:(?:page|site|main|global|top|bottom)[-_]?)?"
_HEADER = re.compile(f"{_PREFIX}header", re.IGNORECASE)
_CALLED = re.compile(
    rf"{_PREFIX}(?:footer|side-?bar|breadcrumbs?|nav(?:igation)?(?:bar|header|footer)?)",
    re.IGNORECASE,
)
_MENU = re.compile(f"{_PREFIX}(?:sub)?menu", re.IGNORECASE)
_CONTENT = frozenset(("content", "article", "entry", "post"))  # a box with a sidebar is none
# A box that asks for consent is called what it is about, and what it is.
_CONSENT = re.compile(
    r"""(?!(?:has|is|no|show|with)[-_]).*(?:cookies?|consent|gdpr)[-_]?(?:info[-_]?)?
    (?:alert|banner|bar|consent|dialog|disclaimer|law|message|modal|notice|notification|overlay|popup|sdk|warning)
    (?-i:(?![a-z])).*""",
    re.IGNORECASE | re.VERBOSE,
)


class Place(IntEnum):
    """Where a text stands; a higher place is more surely the page's own."""

    REPEATED = 0
    HEADER = 1  # which is repeated, too, but may have the page's heading
    OTHER = 2
    ARTICLE = 3  # the page's, or one of several, or of those that a page refers to
    MAIN = 4


class Region:
    """A part of a page whose texts stand in one place.

    Args:
        place: the place.
        is_menu: whether it is called a menu; only one of links is one, and not a restaurant's.
    """

    def __init__(self, place: Place, *, is_menu: bool = False) -> None:
        self.place = place
        self.is_menu = is_menu
        self._letters = Counter[bool]()  # by whether they are in links

    def add(self, text: str, *, linked: bool) -> None:
        """Count a text that stands here."""
        if self.is_menu:
            self._letters[linked] += sum(map(len, text.split()))

    def finish(self) -> None:
        """Find out whether a menu is one."""
        if self.is_menu and self._letters[True] >= self._letters[False]:
            self.place = Place.REPEATED


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
        self._closed: list[Region] = []

    def open(self, name: str, tag: str) -> None:
        """Begin an element."""
        self._depth[name] += 1
        region = _region(self.region.place, name, tag[:_LONGEST])
        if region.is_menu or region.place != self.region.place:
            self._open.append((name, self.region))
            self._begun.setdefault(name, []).append(self._depth[name])
            self.region = region

    @property
    def in_link(self) -> bool:
        """Whether a link or a button is open."""
        return bool(self._depth["a"] or self._depth["button"])

    def close(self, name: str) -> None:
        """End an element, and regions that began in it."""
        self._depth[name] = max(0, self._depth[name] - 1)
        begun = self._begun.get(name, ())
        while begun and begun[-1] > self._depth[name]:
            self._closed.append(self.region)
            inner, self.region = self._open.pop()
            self._begun[inner].pop()

    def finish(self) -> None:
        """End the page; a region that never ended was none, because it would hide too much."""
        for region in self._closed:
            region.finish()
        for _, around in reversed(self._open):
            self.region.place = around.place
            self.region = around


def _region(around: Place, name: str, tag: str) -> Region:
    """Return the region that an element begins, which may be in the same place."""
    found = _ROLE.search(tag)
    roles = {name, found[1].lower()} if found else {name}
    if "main" in roles:
        return Region(Place.MAIN)
    if roles & _REPEATED and not (name == "dialog" and _OPEN.search(tag)):
        return Region(Place.REPEATED)
    if "article" in roles and around >= Place.OTHER:
        return Region(max(around, Place.ARTICLE))
    if around is Place.OTHER:
        if roles & _HEADERS:
            return Region(Place.HEADER)
        if roles & _REPEATED_OUTSIDE:
            return Region(Place.REPEATED)
        if name in _BOXES:
            return _named_region(tag)
    return Region(around)


def _named_region(tag: str) -> Region:
    """Return the region of a box outside of <main> and <article>, by its id and classes."""
    names = [each for found in _NAMES.findall(tag) for each in "".join(found).split()]
    if any(map(_CONSENT.fullmatch, names)):
        return Region(Place.REPEATED)
    if _CONTENT.isdisjoint(names):
        if any(map(_CALLED.fullmatch, names)):
            return Region(Place.REPEATED)
        if any(map(_HEADER.fullmatch, names)):
            return Region(Place.HEADER)
    return Region(Place.OTHER, is_menu=any(map(_MENU.fullmatch, names)))
