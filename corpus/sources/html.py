"""Read HTML pages: their title and the text that readers see.

A page is read from left to right by the rules of the standard's tokenizer, and no tree is built,
because building one takes quadratic time for some pages by the standard itself.
"""

import html
import re
from typing import Any, NamedTuple

from ranklet.corpus.collections.bounds import HEADINGS, count_pieces
from ranklet.corpus.collections.headings import Heading, Headings
from ranklet.corpus.sources.html_regions import Place, Region, Regions
from ranklet.runtime.ground.errors import CollectionError

# Elements inside of a word, those that a space separates from words, and those that hold no markup.
# All others begin and end a line.
_INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "ins", "kbd", "mark", "nobr", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tspan", "tt", "u", "var", "wbr",
    "mi", "mn", "ms", "mtext", "msub", "msup", "mrow",
))  # fmt: skip
_SPACED = frozenset((
    "audio", "button", "canvas", "img", "input", "label", "math", "meter", "object", "output",
    "picture", "progress", "select", "svg", "video",
))  # fmt: skip
RAW = frozenset((
    "script", "style", "noscript", "iframe", "noembed", "noframes", "title", "textarea", "xmp",
))  # fmt: skip
_CODE = ("script", "style")  # without an end they reach to the end of the page
_SEEN = ("textarea", "xmp")  # of these
# Elements of HTML that end a drawing which is still open.
_BREAKOUT = frozenset((
    "blockquote", "body", "br", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "img", "li", "ol", "p", "pre", "table", "ul",
))  # fmt: skip
_READING = ("rt", "rp")  # what stands above a word of <ruby>, and what is shown in its place
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_DRAWN = ("text", "foreignobject")  # elements of a drawing whose text readers see

# A comment ends as browsers end it, or with the page.
_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_BOGUS = re.compile(r"<(?:[!?]|/(?![a-zA-Z]))[^>]*+(?:>|\Z)")
# Values in quotes may contain ">".
_TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*+)(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>]++)""")
_MARKUP = re.compile("[<&]")
_LINE = re.compile(r"[^<\n]*")
_BEGIN = re.compile("</?[a-zA-Z]")
_SIMPLE_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)[^>]*+>")  # of a page with an open quote
_LONG_REFERENCE = re.compile(r"&#(?:[xX][0-9a-fA-F]{8,}|[0-9]{8,});?")  # of no character

_HARD = "\0"  # a space that stays as it is; a page has none of its own
_LEVELS = "\1\2\3\4\5\6"  # before the words of a heading; nor has it these
_OWN = dict.fromkeys(map(ord, _HARD + _LEVELS))
_MARK = re.compile(f"[{_LEVELS}]")
_KEPT = str.maketrans({" ": _HARD, "\u00a0": _HARD, "\t": 4 * _HARD})


class Page(NamedTuple):
    """A page as readers see it: its title, which may be empty, its text, and headings of that."""

    title: str
    text: str
    headings: Headings = ()


def read_page(text: str, *, main: bool = False) -> Page:
    r"""Return what readers see of a page, in linear time.

    Args:
        text: the page.
        main: whether to leave out what all pages of a site repeat, such as menus; see `Regions`.

    Raises:
        CollectionError: it has too many tags and lines, or is too large.

    >>> read_page("<title>Cats</title><p>They <b>sl</b>eep.<br>A lot.<script>x</script>")
    Page(title='Cats', text='They sleep.\nA lot.', headings=())
    """
    count_pieces(text, "<\n")
    page = _Page(text.translate(_OWN))
    page.read()
    title = _tidy("".join(page.title)).replace("\n", " ")
    own = Page(title, *_without_marks(page.text(main=main)))
    if not main or (title and any(each.level == 1 for each in own.headings)):
        return own
    heading = _only_heading(_without_marks(page.shown(Place.HEADER))[1])
    here = heading in {each.text for each in own.headings}
    if (title and here) or _words(heading) <= _words(title):
        return own
    return own._replace(title=" – ".join(filter(None, (heading, title))))


def read_cell(value: Any) -> Any:
    """Return what readers see of a text in a table; of another value itself."""
    if not isinstance(value, str) or not _MARKUP.search(value):
        return value
    return type(value)(read_page(value).text)


def _only_heading(headings: Headings) -> str:
    """Return the one heading of the first level, or the only one of others; "" if there is none."""
    first = [each.text for each in headings if each.level == 1 and each.text]
    found = first or [each.text for each in headings if each.text]
    return found[0] if len(found) == 1 else ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


class _Page:
    """A page while it is read.

    Attributes:
        title: pieces of its title.
    """

    def __init__(self, text: str) -> None:
        self.title: list[str] = []
        self._body: list[tuple[str, Region]] = []  # pieces of the text that readers see
        self._regions = Regions()
        self._text = text
        self._tag = _TAG
        self._endless = set[str]()  # elements that no end tag follows any more
        self._templates = self._drawings = 0  # that are open
        self._drawn = False  # whether a text of a drawing is open
        self._preformatted = 0  # elements <pre> that are open
        self._reading = ""  # the open one of `_READING`
        self._readings: list[str] = []  # of words of this line

    def read(self) -> None:
        """Read the page."""
        text, at = self._text, 0
        while (begin := text.find("<", at)) >= 0:
            self._show(text[at:begin])
            at = self._markup(begin)
        self._show(text[at:])
        self._separate("p")
        self._regions.finish()

    def text(self, *, main: bool) -> str:
        """Return the text that readers see, or what of it is the page's own."""
        if main and (own := self.shown(Place.MAIN)):
            return own
        if main and (other := self.shown(Place.OTHER)):
            article = self.shown(Place.ARTICLE)
            # Short articles beside a longer text are others that it refers to.
            return article if 2 * len(article) >= len(other) else other
        return self.shown(Place.REPEATED)

    def shown(self, least: Place) -> str:
        """Return the text of a place and of those that are more surely the page's own."""
        pieces = (text if region.place >= least else "\n" for text, region in self._body)
        return _tidy("".join(pieces))

    def _markup(self, at: int) -> int:
        """Read what begins with "<", and return where it ends."""
        text = self._text
        if found := _COMMENT.match(text, at):
            return found.end()
        if found := _CDATA.match(text, at):
            self._show(found[1], escaped=False)
            return found.end()
        if found := _BOGUS.match(text, at):
            return found.end()
        if not _BEGIN.match(text, at):
            self._show("<")
            return at + 1
        found = self._tag.match(text, at)
        if found is None:  # a quote has no end, and no later one after it
            self._tag = _SIMPLE_TAG
            found = self._tag.match(text, at)
        if found is None:  # a tag without an end reaches to the end of the page
            return len(text)
        name = found[2].lower()
        self._separate(name)
        if found[1]:
            self._regions.close(name)
            self._close(name)
        elif not found[0].endswith("/>") or name == "img":
            self._regions.open(name, found[0])
            return self._open(name, found)
        return found.end()

    def _separate(self, name: str) -> None:
        if name in _INLINE:
            return
        self._reading = ""
        if name not in _SPACED and self._readings:  # behind the line, so that they divide no word
            readings, self._readings = "".join(self._readings), []
            self._show(f" {readings}", escaped=False)
        self._show(" " if name in _SPACED else "\n")

    def _open(self, name: str, tag: re.Match[str]) -> int:
        """Begin an element, and return where the reading goes on."""
        if name == "ruby":
            self._readings.append(" ")
        if name in ("ruby", "rb", "rtc", *_READING):
            self._reading = name if name in _READING else ""
        elif name == "pre":
            self._preformatted += 1
        elif name == "img":
            self._show(f"{_alternative(tag[0])} ")
        elif name in _HEADINGS:
            self._show(_LEVELS[int(name[1]) - 1])
        if name == "template" and "shadowroot" not in tag[0].lower():
            self._templates += 1
        elif name == "svg":
            self._drawings += 1
        elif self._drawings and name in _DRAWN:
            self._drawn = True
        elif self._drawings and not self._drawn and name in _BREAKOUT:
            self._drawings = 0
        return self._raw(name, tag.end()) if name in RAW else tag.end()

    def _close(self, name: str) -> None:
        if name in ("ruby", *_READING):
            self._reading = ""
        elif name == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        if name == "template":
            self._templates = max(0, self._templates - 1)
        elif name == "svg":
            self._drawings = max(0, self._drawings - 1)
            self._drawn = self._drawn and self._drawings > 0
        elif name in _DRAWN:
            self._drawn = False

    def _raw(self, name: str, begin: int) -> int:
        """Read an element without markup, and return where its end tag begins."""
        end = None
        if name not in self._endless:
            end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(self._text, begin)
        if end is None:
            self._endless.add(name)
            if name in _CODE:
                return len(self._text)
        stop = end.start() if end else begin
        if name == "title":
            stop = end.start() if end else _LINE.match(self._text, begin).end()  # type: ignore[union-attr]
            if not (self.title or self._drawings or self._templates):
                self.title.append(_unescape(self._text[begin:stop]))
        elif name in _SEEN:
            self._show(self._text[begin:stop], escaped=name != "xmp")
        return stop

    def _show(self, text: str, *, escaped: bool = True) -> None:
        """Add a piece of text, if readers see it there."""
        if self._templates or (self._drawings and not self._drawn) or self._reading == "rp":
            return
        text = _unescape(text) if escaped else text
        if self._preformatted:
            text = text.translate(_KEPT)
        if self._reading:
            self._readings.append(text)
        else:
            self._body.append((text, self._regions.region))
            self._regions.region.add(text, linked=self._regions.in_link)


def _alternative(tag: str) -> str:
    """Return the text that stands for a picture, "" if its tag has none."""
    values = {key.lower(): value for key, value in reversed(_ATTRIBUTE.findall(tag))}
    value: str = values.get("alt", "")
    return value[1:-1] if value[:1] in ("'", '"') else value


def _unescape(text: str) -> str:
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text)) if "&" in text else text


def _tidy(text: str) -> str:
    lines = map(_tidy_line, text.split("\n"))
    tidy = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return tidy.replace(_HARD, " ")


def _tidy_line(line: str) -> str:
    """Return a line of words; one of a heading with the mark of its level before them."""
    mark = _MARK.search(line)
    words = " ".join((_MARK.sub("", line) if mark else line).split()).rstrip(_HARD)
    return f"{mark[0]}{words}" if mark and words else words


def _without_marks(text: str) -> tuple[str, Headings]:
    """Return a text without the marks of headings, and these."""
    first, *marked = _MARK.split(text)
    levels, headings, parts, at = _MARK.findall(text), list[Heading](), [first], len(first)
    if len(levels) > HEADINGS:
        raise CollectionError(f"has {len(levels):,} headings, and {HEADINGS:,} are read; divide it")
    for mark, part in zip(levels, marked, strict=True):
        headings.append(Heading(at, _LEVELS.index(mark) + 1, part.partition("\n")[0]))
        parts.append(part)
        at += len(part)
    return "".join(parts), tuple(headings)
