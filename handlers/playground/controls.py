"""The switches and choices of the search page's form."""

from collections.abc import Mapping, Sequence
from typing import Any

from ranklet.handlers.playground.form import Form
from ranklet.runtime.html import Markup, element, join

SIZES = (10, 25, 50)  # hits of a page


def options(form: Form, about: Mapping[str, Any]) -> Markup:
    """Return what stands below the query.

    Args:
        form: what was chosen.
        about: the answer of GET /info.
    """
    made = [
        check_box("typos", "on", "Allow typos", checked=form["typos"] == "on"),
        check_box("syntax", "on", "“Phrases”, −words, begin*", checked=form["syntax"] == "on"),
    ]
    default, most = about["default_pipeline"], about["limits"]["k"]
    if len(names := list(about["pipelines"])) > 1:
        names.sort(key=lambda name: name != default)  # the first needs no field
        made.append(
            choice(
                "Pipeline",
                "pipeline",
                [("", default), *((each, each) for each in names[1:])],
                form["pipeline"],
            )
        )
    first, *others = [str(size) for size in SIZES if size <= most] or [str(most)]
    made.append(choice("Hits", "k", [("", first), *((each, each) for each in others)], form["k"]))
    return join(*made)


def check_box(name: str, value: str, label: str, *, checked: bool, **more: str) -> Markup:
    """Return a check box of the search form with its label."""
    box = field(
        type="checkbox", name=name, value=value, id=f"{name}-{value}", checked=checked, **more
    )
    return element("label", box, element("span", label))


def choice(label: str, name: str, values: Sequence[tuple[str, str]], chosen: str) -> Markup:
    """Return a list of values, with what is shown for each, with its label."""
    shown = [
        element("option", text, value=value, selected=value == chosen) for value, text in values
    ]
    return element("label", label, element("select", *shown, name=name, id=name))


def field(**attributes: str | bool) -> Markup:
    """Return a field of the search form, wherever it stands on the page."""
    return Markup(element("input", form="form", **attributes).removesuffix("</input>"))
