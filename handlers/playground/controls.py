"""The switches and choices of the search page's form."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.look import View
from ranklet.handlers.playground.words import Words
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.bundles import manifest

SIZES = (10, 25, 50)  # hits of a page
_FOLDED = ("typos", "syntax", "k", "pipeline", "boost", "diversity", "unique")
RECENT = {"half_life": "1y", "weight": 0.3}
MOST_ORDERS = 12
DATES = (manifest.DATE, manifest.DATETIME)
_ORDERS = {  # how people call what a field is sorted by, up and down
    manifest.NUMBER: ("least_first", "most_first"),
    manifest.DATE: ("oldest", "newest"),
    manifest.DATETIME: ("oldest", "newest"),
    manifest.STRING: ("a_to_z", ""),
}


def options(form: Form, about: Mapping[str, Any], view: View, *, counts: bool) -> Markup:
    """Return what stands below the query.

    Args:
        form: what was chosen.
        about: the answer of GET /info.
        view: how the page is drawn.
        counts: whether hits can be sorted.
    """
    words, always = view.words, list[Markup]()
    orders = list(_orders(about["metadata"], view))[:MOST_ORDERS] if counts else []
    if orders:
        best = "", words("best")
        always.append(choice(words("sort"), "sort", [best, *orders], form["sort"]))
    if form["details"]:
        always.append(field(type="hidden", name="details", value=form["details"]))
    if view.plain:
        return join(*always)
    more = list(_more(form, about, words, counts=counts))
    is_used = any(form[name] for name in _FOLDED)
    summary = element("summary", words("options"))
    return join(*always, element("details", summary, element("div", *more), open=is_used))


def _more(form: Form, about: Mapping[str, Any], words: Words, *, counts: bool) -> Iterator[Markup]:
    """Yield the choices that few need."""
    yield check_box("typos", "off", words("exact"), checked=form["typos"] == "off")
    yield check_box("syntax", "on", words("syntax"), checked=form["syntax"] == "on")
    most = about["limits"]["k"]
    first, *others = [str(size) for size in SIZES if size <= most] or [str(most)]
    yield choice(
        words("per_page"), "k", [("", first), *zip(others, others, strict=True)], form["k"]
    )
    names = [each for each in about["pipelines"] if each != about["default_pipeline"]]
    if names:
        default = ("", about["default_pipeline"])
        pipelines = [default, *zip(names, names, strict=True)]
        yield choice(words("pipeline"), "pipeline", pipelines, form["pipeline"])
    dates = [name for name, type_ in about["metadata"].items() if type_ in DATES]
    if dates and counts:
        boosts = [(json.dumps({name: RECENT}), words("recent", field=name)) for name in dates]
        yield choice(words("prefer"), "boost", [("", words("nothing")), *boosts], form["boost"])
    if counts:
        variety = [("", words("as_is")), ("0.3", words("some")), ("0.6", words("much"))]
        yield choice(words("variety"), "diversity", variety, form["diversity"])
        yield check_box("unique", "on", words("fold"), checked=form["unique"] == "on")


def _orders(types: Mapping[str, str], view: View) -> Iterator[tuple[str, str]]:
    """Yield the orders of hits, with what is shown for each."""
    for name in view.look.fields(types):
        for sign, order in zip(("", "-"), _ORDERS.get(types[name], ()), strict=False):
            if order:
                yield f"{sign}{name}", view.words(order, field=name.replace("_", " "))


def check_box(name: str, value: str, label: str, *more: str, checked: bool) -> Markup:
    """Return a check box of the search form with its label, and more within it."""
    key = f"{quote(name)}-{quote(value)}"
    box = field(type="checkbox", name=name, value=value, id=key, checked=checked)
    return element("label", box, element("span", label), *more)


def choice(label: str, name: str, values: Sequence[tuple[str, str]], chosen: str) -> Markup:
    """Return a list of values, with what is shown for each, with its label."""
    shown = [
        element("option", text, value=value, selected=value == chosen) for value, text in values
    ]
    return element("label", label, element("select", *shown, name=name, id=name))


def field(**attributes: str | bool) -> Markup:
    """Return a field of the search form, wherever it stands on the page."""
    return Markup(element("input", form="form", **attributes).removesuffix("</input>"))
