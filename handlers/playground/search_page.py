"""The page of the server: a form, and what it asks for, as HTML that needs no script.

A script, where there is one, asks for the same pages and takes over their parts.
"""

from functools import cache
from pathlib import Path
from string import Template
from typing import NamedTuple

from ranklet.handlers.api.answers import info
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.controls import options
from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.found import find
from ranklet.handlers.playground.look import LOOK, Look, View
from ranklet.handlers.playground.results import how, pages, results, status
from ranklet.handlers.playground.sidebar import chips, sidebar
from ranklet.handlers.playground.words import Words, choose_language
from ranklet.runtime.answers.html import element, join
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Timing
from ranklet.runtime.storage.package_files import package_text

FOLDER = Path(__file__).parent
PARTS = (
    "about", "options", "examples", "status", "chips", "filters", "results", "pages", "how",
)  # fmt: skip


class Page(NamedTuple):
    """A page, and milliseconds per stage of what it shows."""

    html: str
    timings: tuple[Timing, ...] = ()


def search_page(
    bundle: Bundle,
    form: Form,
    limits: Limits,
    budget_ms: float,
    look: Look = LOOK,
    *,
    accepted: str = "",
    writable: bool = False,
) -> Page:
    """Return the page that a form asks for; without a query it has all that its filters allow.

    Args:
        bundle: what ranks.
        form: what the page's form, or its address, has sent.
        limits: those of POST /rank.
        budget_ms: milliseconds after which no stage begins.
        look: the settings of the page.
        accepted: the languages that the person reads, as the browser says.
        writable: whether documents may be added.

    Raises:
        RankletError: as POST /rank.
    """
    view = _view(look, form, bundle.manifest.languages, accepted)
    words, types = view.words, bundle.metadata
    look.check(types)
    about = info(bundle, limits, examples=not form["q"])
    count = about["documents"]
    parts = {
        "about": words.count("documents", count),
        "options": options(form, about, view, counts=bundle.countable),
        "add": "" if writable else "hidden",
        "own": "hidden" if view.plain else "open" if form["texts"] or not count else "",
    }
    if not form["q"]:
        tries = [element("a", each, href=Form([("q", each)]).address) for each in about["examples"]]
        parts["examples"] = join(f"{words('try')} ", *tries) if tries else ""
        if not (count and bundle.countable):
            return Page(_filled(form, view, **parts))
    found = find(bundle, form, limits, budget_ms, look)
    parts |= {
        "examples": "",
        "filters": "" if found.is_own else sidebar(found, types, view),
        "chips": chips(found, types, view),
        "status": status(found, view),
        "results": results(found, types, view),
        "pages": pages(found, view),
        "how": how(found, view),
    }
    return Page(_filled(form, view, **parts), found.timings)


def error_page(
    form: Form, code: int, message: str, look: Look = LOOK, accepted: str = "", *, key: str = ""
) -> str:
    """Return the page that says why there is no other; with 401 it asks for the key.

    Args:
        form: what was asked.
        code: the status of the answer.
        message: what is wrong.
        look: the settings of the page.
        accepted: the languages that the person reads.
        key: the key that was given, which is wrong if the code is 401.
    """
    view = _view(look, form, (), accepted)
    if code == 401:
        message = view.words("key_wrong") if key else ""
    said = element("span", message, class_="error") if message else ""
    return _filled(form, view, status=said, key="" if code == 401 else "hidden")


def _view(look: Look, form: Form, texts: tuple[str, ...], accepted: str) -> View:
    words = Words(choose_language(look.language, texts, accepted))
    return View(look, words, look.plain and not form["details"])


def _filled(form: Form, view: View, **parts: str) -> str:
    """Return the page with some parts; all others are empty."""
    query, words, name = form["q"], view.words, view.look.title
    values = {
        **dict.fromkeys(PARTS, ""),
        **{f"say_{said}": text for said, text in words.said.items()},
        "language": words.language,
        "name": name,
        "title": f"{query[:60]} · {name}" if query else name,
        "query": query,
        "focus": "" if query else "autofocus",
        "texts": form["texts"],
        "links": "hidden" if view.plain else "",
        "key": "hidden",
        "add": "hidden",
        "own": "hidden" if view.plain else "",
        **parts,
    }
    escaped = {name: join(value) for name, value in values.items()}  # all but what is markup
    return Template(_template()).substitute(escaped).encode("utf-8", "replace").decode()


@cache
def _template() -> str:
    return package_text(FOLDER / "index.html")
