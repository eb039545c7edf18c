"""The filters by metadata beside the hits."""

from collections.abc import Mapping

from ranklet.handlers.playground.controls import check_box, field
from ranklet.handlers.playground.form import FROM, IS, TO, Form
from ranklet.runtime.bundles import manifest
from ranklet.runtime.html import Markup, element, join

MOST = 12  # fields that are offered
_INPUTS = {manifest.NUMBER: "number", manifest.DATE: "date", manifest.DATETIME: "date"}
_FLAGS = (("true", "yes"), ("false", "no"))


def sidebar(form: Form, types: Mapping[str, str]) -> Markup:
    """Return the filters of the fields, those that are in use first."""
    used = {name: bool(form[IS + name] or form[FROM + name] or form[TO + name]) for name in types}
    names = sorted(types, key=lambda name: not used[name])[:MOST]
    groups = [group for name in names if (group := _group(form, name, types[name]))]
    if not groups:
        return Markup("")
    clear = (
        element("a", "Clear all", href=form.unfiltered().with_().address)
        if form.is_filtered
        else ""
    )
    head = element("p", element("strong", "Filters"), clear, class_="head")
    return join(head, *groups, element("button", "Apply", form="form", class_="apply primary"))


def _group(form: Form, name: str, type_: str) -> Markup | None:
    """Return the filters of a field, None if there are none to offer."""
    content: list[Markup] = []
    if kind := _INPUTS.get(type_):
        content = [_bound(form, FROM + name, "from", kind), _bound(form, TO + name, "to", kind)]
        content = [element("div", *content, class_="range")]
    elif type_ == manifest.FLAG:
        chosen = form.all(IS + name)
        content = [
            check_box(IS + name, value, label, checked=value in chosen) for value, label in _FLAGS
        ]
    if not content:
        return None
    return element("fieldset", element("legend", name.replace("_", " ")), *content)


def _bound(form: Form, name: str, label: str, kind: str) -> Markup:
    step = {"step": "any"} if kind == "number" else {}
    shown = field(type=kind, name=name, id=name, value=form[name], **step)
    return element("label", element("span", label), shown)
