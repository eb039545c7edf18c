"""The switches and choices of the search page's form."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ranklet.handlers.playground.form import Form
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.bundles import manifest

SIZES = (10, 25, 50)  # hits of a page
RECENT = {"half_life": "1y", "weight": 0.3}
MOST_ORDERS = 12
DATES = (manifest.DATE, manifest.DATETIME)
_ORDERS = {  # how people call what a field is sorted by, down and up
    manifest.NUMBER: ("{}, most first", "{}, least first"),
    manifest.DATE: ("{}, newest first", "{}, oldest first"),
    manifest.DATETIME: ("{}, newest first", "{}, oldest first"),
    manifest.STRING: ("", "{}, A to Z"),
}


def options(form: Form, about: Mapping[str, Any], *, counts: bool) -> Markup:
    """Return what stands below the query.

    Args:
        form: what was chosen.
        about: the answer of GET /info.
        counts: whether hits can be sorted.
    """
    always = [
        check_box("typos", "on", "Allow typos", checked=form["typos"] == "on"),
        check_box("syntax", "on", "“Phrases”, −words, begin*", checked=form["syntax"] == "on"),
    ]
    orders = list(_orders(about["metadata"]))[:MOST_ORDERS] if counts else []
    if orders:
        always.append(choice("Sort", "sort", [("", "best first"), *orders], form["sort"]))
    more = list(_more(form, about, counts=counts))
    is_used = any(form[name] for name in ("k", "pipeline", "boost", "diversity", "unique"))
    return join(
        *always, element("details", element("summary", "More"), element("div", *more), open=is_used)
    )


def _more(form: Form, about: Mapping[str, Any], *, counts: bool) -> Iterator[Markup]:
    """Yield the choices that few need."""
    most = about["limits"]["k"]
    first, *others = [str(size) for size in SIZES if size <= most] or [str(most)]
    yield choice("Hits per page", "k", [("", first), *zip(others, others, strict=True)], form["k"])
    names = [each for each in about["pipelines"] if each != about["default_pipeline"]]
    if names:
        default = ("", about["default_pipeline"])
        pipelines = [default, *zip(names, names, strict=True)]
        yield choice("Pipeline", "pipeline", pipelines, form["pipeline"])
    dates = [name for name, type_ in about["metadata"].items() if type_ in DATES]
    if dates and counts:
        boosts = [(json.dumps({name: RECENT}), f"recent {name}") for name in dates]
        yield choice("Prefer", "boost", [("", "nothing"), *boosts], form["boost"])
    if counts:
        variety = [("", "as it is"), ("0.3", "some"), ("0.6", "much")]
        yield choice("Variety", "diversity", variety, form["diversity"])
        yield check_box("unique", "on", "Fold near duplicates", checked=form["unique"] == "on")


def _orders(types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the orders of hits, with what is shown for each."""
    for name, type_ in types.items():
        down, up = _ORDERS.get(type_, ("", ""))
        shown = name.replace("_", " ")
        if down:
            yield f"-{name}", down.format(shown)
        if up:
            yield name, up.format(shown)


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
