"""How whoever serves the page wants it: its name, and what it shows of documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ranklet.handlers.playground.words import ENGLISH, LANGUAGES, Words
from ranklet.runtime.bundles import manifest
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import check_one_of
from ranklet.runtime.ground.variables import Variable

LINKS = ("url", "link", "href", "uri", "source")  # fields that say where a document is
# What people compare first, where nobody has said in which order fields are shown.
_ORDER = (
    manifest.NUMBER, manifest.STRING, manifest.LIST, manifest.FLAG, manifest.DATE,
    manifest.DATETIME,
)  # fmt: skip


@dataclass(frozen=True)
class Look:
    """The settings of the page. The variable that sets each one stands in parentheses.

    Attributes:
        title: the page's name (RANKLET_TITLE).
        plain: show no scores, ids and explanations unless asked (RANKLET_PLAIN=1).
        link: the field whose address a hit leads to (RANKLET_LINK); "" for one of `LINKS`.
        image: the field with the address of a hit's picture (RANKLET_IMAGE).
        show: the fields that hits show, in this order, and by which they are filtered
            (RANKLET_SHOW, separated by commas); none for all.
        language: one of `LANGUAGES` (RANKLET_LANGUAGE); "" for that of the documents, or of the
            person's browser.
    """

    title: str = "ranklet"
    plain: bool = False
    link: str = ""
    image: str = ""
    show: tuple[str, ...] = ()
    language: str = ""

    @classmethod
    def from_variables(cls, variables: Mapping[str, str]) -> "Look":
        """Read the settings.

        Raises:
            InputError: a value cannot be used.
        """
        if language := variables.get(Variable.LANGUAGE, ""):
            check_one_of(Variable.LANGUAGE, language, LANGUAGES)
        check_one_of(Variable.PLAIN, plain := variables.get(Variable.PLAIN, "0"), ("0", "1"))
        show = variables.get(Variable.SHOW, "").split(",")
        return cls(
            variables.get(Variable.TITLE, cls.title),
            plain == "1",
            variables.get(Variable.LINK, ""),
            variables.get(Variable.IMAGE, ""),
            tuple(name for each in show if (name := each.strip())),
            language,
        )

    def check(self, types: Mapping[str, str]) -> None:
        """Raise InputError if a bundle does not have one of the fields."""
        for name in filter(None, (self.link, self.image, *self.show)):
            if name not in types:
                known = ", ".join(types) or "none"
                raise InputError(f"the page cannot show {name!r}; the documents' fields: {known}")

    def fields(self, types: Mapping[str, str]) -> list[str]:
        """Return the fields that hits show, in order."""
        if self.show:
            return [name for name in self.show if name in types]
        names = sorted(types, key=lambda name: _ORDER.index(types[name]))
        return [name for name in names if name != self.image]


LOOK = Look()


class View(NamedTuple):
    """How one page is drawn: its language, and whether it shows what only some people need."""

    look: Look = LOOK
    words: Words = ENGLISH
    plain: bool = False

    def place(self, metadata: Mapping[str, Any]) -> str:
        """Return the address of a document, or ""."""
        if own := metadata.get(self.look.link):
            return own if isinstance(own, str) and is_address(own) else ""
        values = (metadata.get(name) for name in LINKS)
        return next((each for each in values if isinstance(each, str) and is_link(each)), "")

    def image(self, metadata: Mapping[str, Any]) -> str:
        """Return the address of a document's picture, or ""."""
        own = metadata.get(self.look.image)
        return own if isinstance(own, str) and is_address(own) else ""


VIEW = View()


def is_link(text: str) -> bool:
    """Return whether a value is an address of the web; no other scheme becomes a link."""
    if not text.startswith(("https://", "http://")) or any(sign.isspace() for sign in text):
        return False
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:
        return False


def is_address(text: str) -> bool:
    r"""Return whether a value is an address of the web, or one below the page's own.

    >>> [is_address(each) for each in ("img/a.png", "https://a.example/b", "/img/a.png")]
    [True, True, True]
    >>> [is_address(each) for each in ("javascript:alert(1)", "//a.example", "a b", "\\\\a")]
    [False, False, False, False]
    """
    if ":" in text.partition("/")[0] or text.startswith("//"):
        return is_link(text)
    return bool(text) and text.isprintable() and not any(each in text for each in " \\")
