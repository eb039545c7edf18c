"""Draw the hits of an answer of POST /rank: text, metadata, explanation. All text is escaped."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ranklet.handlers.playground.marking import best_part, marked, read_spans
from ranklet.runtime.answers.display import mark_html
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.bundles import manifest

OPEN_DEPTH = 3  # branches of an explanation above this are open at first
LONGEST = 80  # characters of a value of the metadata
LINKS = ("url", "link", "href", "uri", "source")  # fields that say where a document is

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
) -> Markup:
    """Return the items of a list of hits.

    Args:
        hits: those of an answer.
        types: of the metadata, by field.
        first: the number of the first hit.
        openers: the addresses that open each hit; none if nothing is left to open.
        opened: what is unfolded: explanations (`why`), which those of short texts always are, and
            whole texts (`text`).
    """
    highest = max((hit["score"] for hit in hits), default=0.0)
    largest = max(_values(hits), default=0.0)
    return join(
        *(
            _card(hit, _Look(first + at, highest, largest, types, opener, opened))
            for at, (hit, opener) in enumerate(
                zip(hits, openers or [Opener()] * len(hits), strict=True)
            )
        )
    )


class _Look(NamedTuple):
    """What a card shows besides its hit."""

    number: int
    highest: float  # score of all hits
    largest: float  # mark of all hits
    types: Mapping[str, str]
    opener: Opener
    opened: Collection[str]


def _values(hits: Sequence[JSON]) -> Iterator[float]:
    """Yield what each mark adds."""
    for hit in hits:
        for spans in hit.get("highlights", {}).values():
            yield from (span["value"] for span in spans)


def _card(hit: JSON, look: _Look) -> Markup:
    link = _place_of(hit)
    name = hit["title"] or named(hit)
    if "highlights" in hit and hit["title"]:
        title = marked(name, read_spans(hit["highlights"]["title"]), look.largest)
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
    return element(
        "li",
        element("span", str(look.number), class_="place", aria_hidden="true"),
        element("h2", title, dir="auto"),
        element("p", element("span", score, class_="score"), meter(size, whole), class_="points"),
        element("p", named(hit), class_="id") if hit["title"] else "",
        _facts(hit, look.types, hidden=link),
        element("p", _text(hit, look), class_="text", dir="auto"),
        element("div", *_actions(hit, look), class_="actions"),
        class_="hit",
        id=f"hit-{look.number}",
    )


def named(hit: JSON) -> str:
    """Return the id, and the passage if it is not the document's first."""
    return f"{hit['id']} · passage {hit['passage']}" if hit.get("passage", 1) > 1 else hit["id"]


def _text(hit: JSON, look: _Look) -> Markup:
    if "highlights" in hit:
        return best_part(hit["text"], read_spans(hit["highlights"]["text"]), look.largest)
    return Markup(mark_html(hit["snippet"], hit.get("marks", {}).get("snippet", ())))


def _actions(hit: JSON, look: _Look) -> Iterator[Markup]:
    """Yield what is folded below a hit, or the links to it."""
    why, text, is_short = "Why this score?", "Whole text", len(hit["text"]) <= len(hit["snippet"])
    if "explanation" in hit:
        tree = element("ul", branch(hit["explanation"], hit["explanation"]["value"]))
        yield _folded(why, element("div", tree, class_="why"), "why" in look.opened or is_short)
    elif look.opener.why:
        yield element("a", why, href=look.opener.why, data_card=str(look.number))
    if is_short:
        return
    if "highlights" in hit:
        spans = read_spans(hit["highlights"]["text"])
        whole = element("p", marked(hit["text"], spans, look.largest), class_="whole", dir="auto")
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


def _facts(hit: JSON, types: Mapping[str, str], hidden: str) -> Markup:
    """Return the metadata, without the link that the title has."""
    facts = [
        element(
            "div",
            element("dt", name.replace("_", " ")),
            element("dd", fact(value, types.get(name, ""))),
        )
        for name, value in hit.get("metadata", {}).items()
        if value not in (hidden, "", [])
    ]
    return element("dl", *facts, class_="facts") if facts else Markup("")


def fact(value: Any, type_: str = "") -> Markup:
    """Return a value of the metadata for people.

    >>> fact("2024-05-31", "date")
    '<time datetime="2024-05-31">31 May 2024</time>'
    >>> fact("https://example.org/a?b")
    '<a href="https://example.org/a?b" rel="noopener noreferrer">example.org/a</a>'
    """
    if isinstance(value, bool):
        return join("yes" if value else "no")
    if isinstance(value, list):
        return join(short(", ".join(value)))
    text = str(value)
    if type_ in (manifest.DATE, manifest.DATETIME):
        return element("time", in_words(text), datetime=text)
    if is_link(text):
        parts = urlsplit(text)
        shown = short(f"{parts.hostname or ''}{parts.path.rstrip('/')}")
        return element("a", shown, href=text, rel="noopener noreferrer")
    return join(short(text))


def in_words(text: str) -> str:
    """Return a date, or a moment in UTC, for people.

    >>> in_words("2024-05-31"), in_words("2024-05-31T09:30:00+00:00")
    ('31 May 2024', '31 May 2024, 09:30')
    """
    moment = datetime.fromisoformat(text)
    shown = f"{moment.day} {moment:%b} {moment.year}"
    return shown if len(text) == len(date.min.isoformat()) else f"{shown}, {moment:%H:%M}"


def is_link(text: str) -> bool:
    """Return whether a value is an address of the web; no other scheme becomes a link."""
    if not text.startswith(("https://", "http://")) or any(sign.isspace() for sign in text):
        return False
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:
        return False


def _place_of(hit: JSON) -> str:
    """Return where a document is, if its metadata say so."""
    metadata = hit.get("metadata", {})
    values = (metadata.get(name) for name in LINKS)
    return next((each for each in values if isinstance(each, str) and is_link(each)), "")


def short(text: str) -> str:
    """Return a value of the metadata on one line, which is cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
