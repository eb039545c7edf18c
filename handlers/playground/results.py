"""Draw what was found: the hits, what is said of them, and the way to others."""

import json
from collections.abc import Iterator, Mapping

from ranklet.handlers.playground.cards import Opener, cards
from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.found import Found
from ranklet.handlers.playground.look import View
from ranklet.runtime.answers.html import Markup, element, join


def results(found: Found, types: Mapping[str, str], view: View) -> Markup:
    """Return the items of the list of hits, whose metadata have some types."""
    openers = [_opener(found.form, found.first + at) for at in range(len(found.hits))]
    opened = [name for name in ("why", "text") if found.form[name]]
    return cards(found.hits, types, found.first, () if found.is_own else openers, opened, view)


def _opener(form: Form, number: int) -> Opener:
    kept = [pair for pair in form.pairs if pair[0] not in ("why", "text")]
    why, text = (Form([*kept, (name, str(number))]).address for name in ("why", "text"))
    return Opener(f"{why}#hit-{number}", f"{text}#hit-{number}")


def status(found: Found, view: View) -> Markup:
    """Return what was found, in sentences, and ways out if that is nothing."""
    form, words = found.form, view.words
    said, meant = " ".join(_sentences(found, view)), Markup("")
    if corrections := found.answer.get("corrections"):
        own = element("a", form["q"], href=form.with_(typos="off").address)
        shown = ", ".join(f"“{each}”" for each in corrections.values())
        meant = join(f" {words('corrected')} {shown}. {words('instead')} ", own, ".")
    elif suggestion := found.answer.get("suggestion"):
        link = element("a", suggestion, href=form.with_(q=suggestion).address)
        meant = join(f" {words('meant')} ", link, "?")
    return join(said, meant, "" if found.hits else _ways_out(found, view))


def _sentences(found: Found, view: View) -> Iterator[str]:
    count, ms, words = len(found.hits), sum(timing.ms for timing in found.timings), view.words
    total = found.answer.get("total") if found.answer.get("exact") else None
    first, last = words.number(found.first), words.number(found.first + count - 1)
    if not count:
        yield words("no_more" if found.first > 1 else "no_hits")
        if found.first == 1:
            yield words("tips")
    else:
        if found.first == 1 and found.is_last:
            said = words.count("hits", count)
        elif total:
            said = words("hits_of", first=first, last=last, n=words.number(total))
        else:
            said = words("hits_from", first=first, last=last)
        yield f"{said}." if view.plain else words("in_ms", hits=said, ms=words.number(round(ms, 1)))
    if ignored := found.answer.get("ignored"):
        yield words("ignored", words=", ".join(ignored))
    if left_out := found.answer.get("left_out"):
        yield words("late", what=", ".join(left_out))


def _ways_out(found: Found, view: View) -> Markup:
    """Return links to what is near a query without hits."""
    form, words, ways = found.form, view.words, dict[str, Form]()
    if found.first > 1:
        ways[words("first_page")] = form.with_()
    if found.unfiltered:
        others = words.count("hits", found.unfiltered)
        ways[words("without_filters", hits=others)] = form.unfiltered().with_()
    if form["syntax"]:
        ways[words("read_signs")] = form.with_(syntax="")
    ways[words("browse")] = Form()
    links = [element("a", label, href=to.address) for label, to in ways.items()]
    return element("span", *links, class_="ways")


def pages(found: Found, view: View) -> Markup:
    """Return links to the pages before and after this one, if there are any."""
    page = found.form.number("page", 1)
    if found.is_own or (page == 1 and found.is_last):
        return Markup("")
    before = _to(found.form, page - 1, view.words("previous"), "prev") if page > 1 else ""
    after = "" if found.is_last else _to(found.form, page + 1, view.words("next"), "next")
    return join(before, element("span", view.words("page", n=view.words.number(page))), after)


def _to(form: Form, page: int, label: str, relation: str) -> Markup:
    return element("a", label, href=form.with_(page=str(page)).address, rel=relation)


def how(found: Found, view: View) -> Markup:
    """Return how it was found: the time of each stage, and the request that does the same."""
    if view.plain:
        return element("a", view.words("details"), href=found.form.with_(details="on").address)
    stages = [
        element("div", element("dt", stage), element("dd", f"{ms:.2f} ms"))
        for stage, ms in found.timings
    ]
    request = json.dumps(found.request, ensure_ascii=False, indent=1)
    return element(
        "details",
        element("summary", view.words("how")),
        element("dl", *stages, class_="facts"),
        element("pre", f"POST /rank\n{request}"),
        class_="own",
    )
