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
from ranklet.handlers.playground.results import how, pages, results, status
from ranklet.handlers.playground.sidebar import sidebar
from ranklet.runtime.answers.html import element, join
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Timing
from ranklet.runtime.storage.package_files import package_text

FOLDER = Path(__file__).parent
PARTS = ("about", "options", "examples", "status", "filters", "results", "pages", "how")


class Page(NamedTuple):
    """A page, and milliseconds per stage of what it shows."""

    html: str
    timings: tuple[Timing, ...] = ()


def search_page(
    bundle: Bundle, form: Form, limits: Limits, budget_ms: float, *, writable: bool = False
) -> Page:
    """Return the page that a form asks for, which has no hits if the form has no query.

    Args:
        bundle: what ranks.
        form: what the page's form, or its address, has sent.
        limits: those of POST /rank.
        budget_ms: milliseconds after which no stage begins.
        writable: whether documents may be added.

    Raises:
        RankletError: as POST /rank.
    """
    about = info(bundle, limits, examples=not form["q"])
    count = about["documents"]
    parts = {
        "about": f"{count:,} document{'s' if count != 1 else ''}",
        "options": options(form, about, counts=bundle.countable),
        "add": "" if writable else "hidden",
        "own": "open" if form["texts"] or not count else "",
    }
    if not form["q"]:
        tries = [element("a", each, href=Form([("q", each)]).address) for each in about["examples"]]
        return Page(_filled(form, **parts, examples=join("Try ", *tries) if tries else ""))
    found = find(bundle, form, limits, budget_ms)
    parts |= {
        "filters": "" if found.is_own else sidebar(found, bundle.metadata),
        "status": status(found),
        "results": results(found, bundle.metadata),
        "pages": pages(found),
        "how": how(found),
    }
    return Page(_filled(form, **parts), found.timings)


def error_page(form: Form, code: int, message: str) -> str:
    """Return the page that says why there is no other; with 401 it has a field for the key."""
    said = element("span", message, class_="error") if message else ""
    return _filled(form, status=said, key="" if code == 401 else "hidden")


def _filled(form: Form, **parts: str) -> str:
    """Return the page with some parts; all others are empty."""
    query = form["q"]
    values = {
        **dict.fromkeys(PARTS, ""),
        "title": f"{query[:60]} · ranklet" if query else "ranklet",
        "answered": "answered" if query else "",
        "query": query,
        "focus": "" if query else "autofocus",
        "texts": form["texts"],
        "key": "hidden",
        "add": "hidden",
        "own": "",
        **parts,
    }
    escaped = {name: join(value) for name, value in values.items()}  # all but what is markup
    return Template(_template()).substitute(escaped).encode("utf-8", "replace").decode()


@cache
def _template() -> str:
    return package_text(FOLDER / "index.html")
