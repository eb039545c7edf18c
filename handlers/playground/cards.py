"""Draw the hits of an answer of POST /rank: text, metadata, explanation. All text is escaped."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ranklet.handlers.playground.look import VIEW, View, is_link
from ranklet.handlers.playground.marking import best_part, marked, read_spans
from ranklet.handlers.playground.words import ENGLISH, Words, count_most_decimals
from ranklet.runtime.answers.display import mark_html
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.bundles import manifest

OPEN_DEPTH = 3  # branches of an explanation above this are open at first
LONGEST = 80  # characters of a value of the metadata

JSON = Mapping[str, Any]


class Opener(NamedTuple):
    """The addresses that open a hit, or "" for none.

    Attributes:
        why: with its explanation.
        text: with its whole text.
    """

    why: str = ""
    text: str = ""


def cards(
    hits: Sequence[JSON],
    types: Mapping[str, str],
    first: int = 1,
    openers: Sequence[Opener] = (),
    opened: Collection[str] = (),
    view: View = VIEW,
) -> Markup:
    """Return the items of a list of hits.

    Args:
        hits: those of an answer.
        types: of the metadata, by field.
        first: the number of the first hit.
        openers: the addresses that open each hit; none if nothing is left to open.
        opened: what is unfolded: explanations (`why`), which those of short texts always are, and
            whole texts (`text`).
        view: how they are drawn.
    """
    highest = max((hit["score"] for hit in hits), default=0.0)
    largest = max(_values(hits), default=0.0)
    metadata = [hit.get("metadata", {}) for hit in hits]
    facts = {
        name: _Fact(types[name], count_most_decimals(each.get(name) for each in metadata))
        for name in view.look.fields(types)
    }
    return join(
        *(
            _card(hit, _Look(first + at, highest, largest, facts, opener, opened, view))
            for at, (hit, opener) in enumerate(
                zip(hits, openers or [Opener()] * len(hits), strict=True)
            )
        )
    )


class _Fact(NamedTuple):
    """How a field of the metadata is shown."""

    type: str
    decimals: int


class _Look(NamedTuple):
    """What a card shows besides its hit."""

    number: int
    highest: float  # score of all hits
    largest: float  # mark of all hits
    facts: Mapping[str, _Fact]
    opener: Opener
    opened: Collection[str]
    view: View


def _values(hits: Sequence[JSON]) -> Iterator[float]:
    """Yield what each mark adds."""
    for hit in hits:
        for spans in hit.get("highlights", {}).values():
            yield from (span["value"] for span in spans)


def _card(hit: JSON, look: _Look) -> Markup:
    metadata, words = hit.get("metadata", {}), look.view.words
    link, image = look.view.place(metadata), look.view.image(metadata)
    identity = f"{hit['id']}{_passage(hit, look)}"
    name = hit["title"] or identity
    if "highlights" in hit and hit["title"]:
        title = marked(name, read_spans(hit["highlights"]["title"]), look.largest, words)
    else:
        title = Markup(
            mark_html(name, hit.get("marks", {}).get("title", ()) if hit["title"] else ())
        )
    if link:
        title = element("a", title, href=link, rel="noopener noreferrer")
    elif look.opener.text:
        title = element("a", title, href=look.opener.text, data_card=str(look.number))
    score, size, whole = f"{hit['score']:.4f}", hit["score"], look.highest
    if "relevance" in hit:  # how likely it answers the query
        score, size, whole = f"{hit['relevance']:.0%}", hit["relevance"], 1.0
    points = element("span", score, class_="score"), meter(size, whole)
    shown = not look.view.plain, bool(hit["title"])
    picture = element("img", src=image, alt="", loading="lazy", referrerpolicy="no-referrer")
    return element(
        "li",
        Markup(picture.removesuffix("</img>")) if image else "",
        element("span", str(look.number), class_="place", aria_hidden="true"),
        element("h2", title, dir="auto"),
        element("p", *points, class_="points") if shown[0] and look.highest else "",
        element("p", identity, class_="id") if all(shown) else "",
        _facts(metadata, look, hidden=link),
        element("p", _text(hit, look), class_="text", dir="auto"),
        element("div", *_actions(hit, look), class_="actions"),
        class_="hit pictured" if look.view.look.image else "hit",
        id=f"hit-{look.number}",
    )


def _passage(hit: JSON, look: _Look) -> str:
    """Return which passage of a document it is, if it is not the first."""
    number = hit.get("passage", 1)
    return f" · {look.view.words('passage', n=number)}" if number > 1 else ""


def _text(hit: JSON, look: _Look) -> Markup:
    if "highlights" in hit:
        return best_part(
            hit["text"], read_spans(hit["highlights"]["text"]), look.largest, look.view.words
        )
    return Markup(mark_html(hit["snippet"], hit.get("marks", {}).get("snippet", ())))


def _actions(hit: JSON, look: _Look) -> Iterator[Markup]:
    """Yield what is folded below a hit, or the links to it."""
    words, is_short = look.view.words, len(hit["text"]) <= len(hit["snippet"])
    why, text = words("why"), words("whole")
    if "explanation" in hit:
        tree = element("ul", branch(hit["explanation"], hit["explanation"]["value"]))
        yield _folded(why, element("div", tree, class_="why"), "why" in look.opened or is_short)
    elif look.opener.why and not look.view.plain:
        yield element("a", why, href=look.opener.why, data_card=str(look.number))
    if is_short:
        return
    if "highlights" in hit:
        spans = read_spans(hit["highlights"]["text"])
        whole = element(
            "p", marked(hit["text"], spans, look.largest, words), class_="whole", dir="auto"
        )
        yield _folded(text, whole, "text" in look.opened)
    elif look.opener.text:
        yield element("a", text, href=look.opener.text, data_card=str(look.number))


def _folded(summary: str, content: Markup, is_open: bool) -> Markup:
    return element("details", element("summary", summary), content, open=is_open)


def branch(part: JSON, whole: float, depth: int = 0) -> Markup:
    """Return a branch of an explanation: its amount, and below it its parts and its reasons.

    Args:
        part: the branch.
        whole: the amount that a full meter stands for.
        depth: how many branches it lies below.
    """
    row = (
        element("span", part["label"], class_="label"),
        meter(part["value"], abs(whole)),
        element("span", f"{part['value']:.4f}", class_="amount"),
    )
    below = [branch(each, whole, depth + 1) for each in part["parts"]]
    folded = [element("ul", *below)] if below else []
    if reasons := part.get("reasons"):  # in a unit of their own
        inner = element("ul", branch(reasons, reasons["value"], depth + 1))
        folded.append(element("div", inner, class_="reasons"))
    if not folded:
        return element("li", element("div", *row, class_="row"))
    summary = element("summary", *row, class_="row")
    return element("li", element("details", summary, *folded, open=depth < OPEN_DEPTH))


def meter(value: float, whole: float) -> Markup:
    """Return a bar for a share, which is drawn without a style that the policy would forbid."""
    share = min(1.0, abs(value) / whole) if whole > 0 else 0.0
    bar = element("rect", width=f"{100 * share:.0f}%", height="100%")
    return element("svg", bar, class_="meter loss" if value < 0 else "meter", aria_hidden="true")


def _facts(metadata: JSON, look: _Look, hidden: str) -> Markup:
    """Return the metadata, without the link that the title has."""
    facts = [
        element(
            "div",
            element("dt", name.replace("_", " ")),
            element("dd", fact(value, how.type, how.decimals, look.view.words)),
            class_=how.type,
        )
        for name, how in look.facts.items()
        if (value := metadata.get(name)) not in (None, hidden, "", [])
    ]
    return element("dl", *facts, class_="facts") if facts else Markup("")


def fact(value: Any, type_: str = "", decimals: int = 0, words: Words = ENGLISH) -> Markup:
    """Return a value of the metadata for people.

    >>> fact("2024-05-31", "date"), fact(1299.5, "number", 2)
    ('<time datetime="2024-05-31">31 May 2024</time>', '1,299.50')
    >>> fact("https://example.org/a?b")
    '<a href="https://example.org/a?b" rel="noopener noreferrer">example.org/a</a>'
    """
    if isinstance(value, bool):
        return join(words("yes" if value else "no"))
    if isinstance(value, list):
        return join(short(", ".join(value)))
    if isinstance(value, int | float):
        return join(words.number(value, decimals))
    text = str(value)
    if type_ in (manifest.DATE, manifest.DATETIME):
        return element("time", words.date(text), datetime=text)
    if is_link(text):
        parts = urlsplit(text)
        shown = short(f"{parts.hostname or ''}{parts.path.rstrip('/')}")
        return element("a", shown, href=text, rel="noopener noreferrer")
    return join(short(text))


def short(text: str) -> str:
    """Return a value of the metadata on one line, which is cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
