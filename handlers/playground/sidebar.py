"""The filters by metadata beside the hits: how often each value is, and ranges."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ranklet.handlers.playground.cards import fact, short
from ranklet.handlers.playground.controls import check_box, field
from ranklet.handlers.playground.form import FROM, IS, TO, Form, operand
from ranklet.handlers.playground.found import ORDERED, SHOWN, Found
from ranklet.handlers.playground.look import View, is_link
from ranklet.handlers.playground.words import count_most_decimals
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.bundles import manifest

MOST = 12  # fields that are offered, besides those that are in use
_FLAGS = {"true": "yes", "false": "no"}


def sidebar(found: Found, types: Mapping[str, str], view: View) -> Markup:
    """Return the filters of the fields of the metadata, which have some types.

    Fields of few values come first, then those with a least and a most.
    """
    form, facets = found.form, found.answer.get("facets", {})

    def key(name: str) -> tuple[bool, bool, int]:
        type_ = types[name]
        return type_ in ORDERED[1:], type_ in ORDERED, len(facets.get(name, ()))

    groups = list[Markup]()
    for name in sorted(view.look.fields(types), key=key):
        used = any(form[prefix + name] for prefix in (IS, FROM, TO))
        ranged = types[name] in ORDERED
        inside = (
            _range(form, name, types[name], facets.get(name, ()), view, used=used)
            if ranged
            else _values(form, name, facets.get(name, ()), view)
        )
        if inside and (used or len(groups) < MOST):
            groups.append(element("fieldset", element("legend", name.replace("_", " ")), *inside))
    if not groups:
        return Markup("")
    where = json.dumps(found.request["where"]) if "where" in found.request else ""
    return join(
        element("data", value=where, id="where", hidden=True) if where else "",
        *groups,
        _remark(found, view),
        element("button", view.words("apply"), form="form", class_="apply primary"),
    )


def chips(found: Found, types: Mapping[str, str], view: View) -> Markup:
    """Return the filters in use, each as a link that removes it."""
    form, words, links = found.form, view.words, list[Markup]()
    for name, value in form.filters:
        prefix, _, bare = name.partition(".")
        end = f"{words(prefix)} " if f"{prefix}." in (FROM, TO) else ""
        label = f"{bare.replace('_', ' ') or name}: {end}"
        type_ = types.get(bare, "")
        shown = value if is_link(value) else fact(operand(value, type_), type_, 0, words)
        cross = element("span", "×", aria_hidden="true")
        said = element("span", words("remove"), class_="hidden")
        links.append(
            element("a", said, label, shown, cross, href=form.without((name, value)).address)
        )
    if len(links) > 1:
        clear = form.unfiltered().with_().address
        links.append(element("a", words("clear"), href=clear, class_="clear"))
    return join(*links)


def _remark(found: Found, view: View) -> Markup:
    """Return what is counted if that is not all that match."""
    if found.answer.get("exact", True):
        return Markup("")
    return element("p", view.words.count("counted", found.answer["total"]), class_="remark")


def _values(form: Form, name: str, counts: Sequence[Mapping[str, Any]], view: View) -> list[Markup]:
    """Return check boxes of the most frequent values and of those chosen.

    A field of addresses, or one in which no value is frequent, as of ids, has none.
    """
    chosen = form.all(IS + name)
    known = {_written(each["value"]): each["count"] for each in counts}
    shown = {value: count for value, count in known.items() if value.strip()}
    is_varied = len(known) > SHOWN and max(known.values()) == 1
    if not chosen and (is_varied or any(map(is_link, shown))):
        return []
    is_open = name in form.all("more")
    listed = list(shown.items()) if is_open else list(shown.items())[:SHOWN]
    rows = [*((each, shown.get(each)) for each in chosen if each not in dict(listed)), *listed]
    boxes = list(_boxes(name, rows, chosen, view))
    if is_open or len(shown) > SHOWN:
        more, label = ("more", name), view.words("fewer" if is_open else "more")
        to = form.without(more) if is_open else Form([*form.with_().pairs, more])
        boxes.append(element("a", label, href=to.address, class_="others"))
    if is_open:
        boxes.append(field(type="hidden", name="more", value=name))
    return boxes


def _boxes(
    name: str, rows: Sequence[tuple[str, int | None]], chosen: Sequence[str], view: View
) -> Iterator[Markup]:
    for value, count in rows:
        label = view.words(_FLAGS[value]) if value in _FLAGS else short(value)
        amount = "" if count is None else element("small", view.words.number(count))
        yield check_box(IS + name, value, label, amount, checked=value in chosen)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _range(
    form: Form, name: str, type_: str, ends: Sequence[Mapping[str, Any]], view: View, *, used: bool
) -> list[Markup]:
    """Return the least and the most, and the fields for them; none if all are equal."""
    least, most = (ends[0]["value"], ends[-1]["value"]) if ends else (None, None)
    if least == most and not used:
        return []
    kind = "number" if type_ == manifest.NUMBER else "date"
    fields = [
        _end(form, prefix + name, view.words(label), kind, value)
        for prefix, label, value in ((FROM, "from", least), (TO, "to", most))
    ]
    span = list[str]()
    if least is not None:
        decimals = count_most_decimals((least, most))
        shown = [fact(each, type_, decimals, view.words) for each in (least, most)]
        span = [shown[0], " – ", shown[1]]
    return [element("p", *span, class_="span"), element("div", *fields, class_="range")]


def _end(form: Form, name: str, label: str, kind: str, bound: Any) -> Markup:
    more = {"step": "any"} if kind == "number" else {}
    if kind == "number" and bound is not None:
        more["placeholder"] = str(bound)
    shown = field(type=kind, name=name, id=name, value=form[name], **more)
    return element("label", element("span", label), shown)
