"""The filters by metadata beside the hits: how often each value is, and ranges."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ranklet.handlers.playground.cards import is_link, short
from ranklet.handlers.playground.controls import check_box, field
from ranklet.handlers.playground.form import FROM, IS, TO, Form
from ranklet.handlers.playground.found import VALUES, Found
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.bundles import manifest

MOST = 12  # fields that are offered, besides those that are in use
_INPUTS = {manifest.NUMBER: "number", manifest.DATE: "date", manifest.DATETIME: "date"}
_FLAGS = {"true": "yes", "false": "no"}


def sidebar(found: Found, types: Mapping[str, str]) -> Markup:
    """Return the filters of the fields of the metadata, which have some types."""
    form, facets = found.form, found.answer.get("facets", {})
    groups = list[Markup]()
    for name, type_ in types.items():
        used = any(form[prefix + name] for prefix in (IS, FROM, TO))
        inside = _range(form, name, type_) or _values(form, name, facets.get(name, ()))
        if inside and (used or len(groups) < MOST):
            groups.append(element("fieldset", element("legend", name.replace("_", " ")), *inside))
    if not groups:
        return Markup("")
    clear = form.unfiltered().with_().address
    where = json.dumps(found.request["where"]) if "where" in found.request else ""
    return join(
        element("data", value=where, id="where", hidden=True) if where else "",
        element(
            "p",
            element("strong", "Filters"),
            element("a", "Clear all", href=clear) if form.is_filtered else "",
            class_="head",
        ),
        *groups,
        _remark(found),
        element("button", "Apply", form="form", class_="apply primary"),
    )


def _remark(found: Found) -> Markup:
    """Return what is counted if that is not all that match."""
    if found.answer.get("exact", True):
        return Markup("")
    total = found.answer["total"]
    return element("p", f"Counted among the best {total:,} documents.", class_="remark")


def _values(form: Form, name: str, counts: Sequence[Mapping[str, Any]]) -> list[Markup]:
    """Return check boxes of the most frequent values and of those chosen.

    A field of addresses, or one in which no value is frequent, as of ids, has none.
    """
    chosen = form.all(IS + name)
    known = {_written(each["value"]): each["count"] for each in counts}
    shown = {value: count for value, count in known.items() if value.strip()}
    is_varied = len(known) == VALUES["top"] and max(known.values()) == 1
    if not chosen and (is_varied or any(map(is_link, shown))):
        return []
    rows = [*((value, shown.get(value)) for value in chosen if value not in shown), *shown.items()]
    return list(_boxes(name, rows, chosen))


def _boxes(
    name: str, rows: Sequence[tuple[str, int | None]], chosen: Sequence[str]
) -> Iterator[Markup]:
    for value, count in rows:
        label = short(_FLAGS.get(value, value))
        amount = "" if count is None else element("small", f"{count:,}")
        yield check_box(IS + name, value, label, amount, checked=value in chosen)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _range(form: Form, name: str, type_: str) -> list[Markup]:
    """Return the fields for the least and the most, none if the type has no order to ask for."""
    if not (kind := _INPUTS.get(type_)):
        return []
    ends = (_end(form, FROM + name, "from", kind), _end(form, TO + name, "to", kind))
    return [element("div", *ends, class_="range")]


def _end(form: Form, name: str, label: str, kind: str) -> Markup:
    step = {"step": "any"} if kind == "number" else {}
    shown = field(type=kind, name=name, id=name, value=form[name], **step)
    return element("label", element("span", label), shown)
