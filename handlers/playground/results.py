"""Draw what was found: the hits, what is said of them, and the way to others."""

import json
from collections.abc import Iterator, Mapping

from ranklet.handlers.playground.cards import Opener, cards
from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.found import Found
from ranklet.runtime.answers.html import Markup, element, join


def results(found: Found, types: Mapping[str, str]) -> Markup:
    """Return the items of the list of hits, whose metadata have some types."""
    openers = [_opener(found.form, found.first + at) for at in range(len(found.hits))]
    opened = [name for name in ("why", "text") if found.form[name]]
    return cards(found.hits, types, found.first, () if found.is_own else openers, opened)


def _opener(form: Form, number: int) -> Opener:
    kept = [pair for pair in form.pairs if pair[0] not in ("why", "text")]
    why, text = (Form([*kept, (name, str(number))]).address for name in ("why", "text"))
    return Opener(f"{why}#hit-{number}", f"{text}#hit-{number}")


def status(found: Found) -> Markup:
    """Return what was found, in sentences, and ways out if that is nothing."""
    said, meant = " ".join(_sentences(found)), Markup("")
    if suggestion := found.answer.get("suggestion"):
        link = element("a", suggestion, href=found.form.with_(q=suggestion).address)
        meant = join(" Did you mean ", link, "?")
    return join(said, meant, "" if found.hits else _ways_out(found))


def _sentences(found: Found) -> Iterator[str]:
    count, ms = len(found.hits), sum(timing.ms for timing in found.timings)
    if not count:
        yield "There are no more hits." if found.first > 1 else "No hits for this query."
    elif found.first == 1 and found.is_last:
        yield f"{count:,} hit{'s' if count != 1 else ''} in {ms:.1f} ms."
    else:
        total = found.answer.get("total") if found.answer.get("exact") else None
        of = f" of {total:,}" if total else ""
        yield f"Hits {found.first:,} to {found.first + count - 1:,}{of} in {ms:.1f} ms."
    for word, other in found.answer.get("corrections", {}).items():
        yield f"Searched for “{other}” instead of “{word}”."
    if ignored := found.answer.get("ignored"):
        yield f"Left out as stop words: {', '.join(ignored)}."
    if left_out := found.answer.get("left_out"):
        yield f"There was no time for: {', '.join(left_out)}."


def _ways_out(found: Found) -> Markup:
    """Return links to what is near a query without hits."""
    form, ways = found.form, dict[str, Form]()
    if found.first > 1:
        ways["First page"] = form.with_()
    if found.unfiltered:
        others = f"{found.unfiltered:,} hit{'s' if found.unfiltered != 1 else ''}"
        ways[f"{others} without filters"] = form.unfiltered().with_()
    if found.allows_typos and not found.answer.get("suggestion"):
        ways["Allow typos"] = form.with_(typos="on")
    if form["syntax"]:
        ways["Read signs as plain words"] = form.with_(syntax="")
    links = [element("a", label, href=to.address) for label, to in ways.items()]
    return element("span", *links, class_="ways") if links else Markup("")


def pages(found: Found) -> Markup:
    """Return links to the pages before and after this one, if there are any."""
    page = found.form.number("page", 1)
    if found.is_own or (page == 1 and found.is_last):
        return Markup("")
    before = _to(found.form, page - 1, "← Previous", "prev") if page > 1 else ""
    after = "" if found.is_last else _to(found.form, page + 1, "Next →", "next")
    return join(before, element("span", f"Page {page:,}"), after)


def _to(form: Form, page: int, label: str, relation: str) -> Markup:
    return element("a", label, href=form.with_(page=str(page)).address, rel=relation)


def how(found: Found) -> Markup:
    """Return how it was found: the time of each stage, and the request that does the same."""
    stages = [
        element("div", element("dt", stage), element("dd", f"{ms:.2f} ms"))
        for stage, ms in found.timings
    ]
    request = json.dumps(found.request, ensure_ascii=False, indent=1)
    return element(
        "details",
        element("summary", "How this was found"),
        element("dl", *stages, class_="facts"),
        element("pre", f"POST /rank\n{request}"),
        class_="own",
    )
