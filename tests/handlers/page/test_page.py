"""The page of explained hits: its numbers add up, its texts are whole, and all of it is escaped."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.handlers.page.html import Markup, element
from ranklet.handlers.page.marked_text import pieces
from ranklet.handlers.page.page import PARTS, page
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.explanation import Explanation, ReadSpans
from ranklet.runtime.hits import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = "<script>document.title='taken'</script><img src=x onerror=alert(1)> \"dough\" & 'x'"
VOID = {"meta"}
PIPELINES = ("bm25", "bm25_pieces", "rrf", "linear")


@dataclass
class Element:
    """An element of a parsed page."""

    tag: str
    attributes: dict[str, str]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.children)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, tag: str, name: str = "") -> "Iterator[Element]":
        """Yield the elements of a tag (and class) below this one, in order."""
        for each in self.children:
            if isinstance(each, Element):
                if each.tag == tag and (not name or name in each.classes):
                    yield each
                yield from each.all(tag, name)

    def one(self, tag: str, name: str = "") -> "Element":
        return next(self.all(tag, name))


class Reader(HTMLParser):
    """Parses strictly: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]
        self.feed(text)
        self.close()
        assert len(self.open) == 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(text: str) -> Element:
    return Reader(text).open[0]


def amount(row: Element) -> float:
    return float(row.one("data").attributes["value"])


def check_tree(item: Element) -> float:
    """Check that what hangs on a branch adds up to its amount, which is returned."""
    value = amount(item.one("div" if item.children[0].tag == "div" else "summary", "row"))  # type: ignore[union-attr]
    (first,) = item.children
    assert isinstance(first, Element)
    below = [each for each in first.children if isinstance(each, Element) and each.tag == "ul"]
    for each in below:
        parts = [check_tree(part) for part in each.children if isinstance(part, Element)]
        assert parts
        assert sum(parts) == pytest.approx(value, abs=1e-6)
    return value


def check_tables(card: Element) -> None:
    for table in card.all("table"):
        columns = [each.text for each in table.one("thead").all("th")]
        rows = list(table.one("tbody").all("tr"))
        assert rows
        for row in rows:
            cells = list(row.all("td"))
            assert len(cells) + 1 == len(columns)
            assert (columns[1], columns[-1]) == ("sum", "the rest")
            given = [amount(cell) for cell in cells if cell.classes != ["none"]]
            assert sum(given[1:]) == pytest.approx(given[0], abs=1e-9)


def shown(bundle: Bundle, query: str, hits: Any, recipe: str = "recipe") -> Element:
    return parsed(page(bundle, query, list(hits), recipe))


@pytest.mark.parametrize("pipeline", [*PIPELINES, "model1", "model1_pieces"])
def test_the_amounts_add_up(bundle: Bundle, pipeline: str) -> None:
    recipe: Any = pipeline
    if pipeline.startswith("model1"):
        recipe = [
            {"stage": "retrieve", "ranker": "bm25", "k": 9},
            {"stage": "rescore", "ranker": pipeline},
        ]
    query = "wash windows or knead dough with warm water"
    hits = bundle.rank(query, k=3, pipeline=recipe, explain=True)
    found = shown(bundle, query, hits)
    cards = list(found.all("li", "hit"))
    assert len(cards) == 3
    for card, hit in zip(cards, hits, strict=True):
        assert float(card.one("data", "score").attributes["value"]) == hit.score
        root = card.one("div", "why").one("ul")
        assert check_tree(root.one("li")) == pytest.approx(hit.score, abs=1e-5)
        check_tables(card)
        assert card.one("p", "text").text == hit.text
        assert card.one("h2").text == (hit.title or hit.id)
    with_pairs = pipeline == "linear" or pipeline.startswith("model1")
    assert bool(list(found.all("table"))) == with_pairs
    assert bool(list(found.all("button"))) == (pipeline != "rrf")


def test_a_buttons_marks_add_up_to_what_its_tokens_carry(bundle: Bundle) -> None:
    query = "rising dough"
    recipe: Any = [
        {"stage": "retrieve", "ranker": "bm25", "k": 9},
        {"stage": "rescore", "ranker": "model1"},
    ]
    (hit,) = bundle.rank(query, k=1, pipeline=recipe, explain=True)
    title, text = pieces(bundle, hit)
    assert "".join(piece.text for piece in text) == hit.text
    assert "".join(piece.text for piece in title) == hit.title
    assert hit.explanation is not None
    # Words do not overlap: what a query token's marks carry is the sum of its parts with a source.
    for number, own in enumerate(hit.explanation.parts):
        wanted = sum(part.value for part in own.parts if part.source)
        carried = sum(piece.by.get(number, 0.0) for piece in (*title, *text))
        assert carried == pytest.approx(wanted, rel=1e-9)
    card = shown(bundle, query, [hit]).one("li", "hit")
    buttons = {each.attributes["data-asked"]: each for each in card.all("button")}
    assert {each.children[0] for each in buttons.values()} <= {"rising", "dough"}
    assert [amount(each) for _, each in sorted(buttons.items())] == [
        part.value for part in hit.explanation.parts
    ]
    named = {
        pair.split(":")[0]
        for mark in card.all("mark")
        for pair in mark.attributes["data-by"].split()
    }
    assert named <= buttons.keys()
    assert named


def test_pieces_stand_in_the_order_of_the_query(bundle: Bundle) -> None:
    for query, wanted in (("dough bread", ["dough", "bread"]), ("bread dough", ["bread", "dough"])):
        hit = bundle.explained(query, "bread", pipeline="bm25")
        buttons = shown(bundle, query, [hit]).all("button")
        assert [str(each.children[0]) for each in buttons] == wanted


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_markup_in_texts_and_query_stays_text(bundle: Bundle, pipeline: str) -> None:
    own = [{"id": EVIL, "title": EVIL, "text": EVIL}, {"title": "", "text": "dough </style> ]]>"}]
    hits = bundle.rank(EVIL, own, pipeline=pipeline, explain=True)
    text = page(bundle, EVIL, list(hits), EVIL)
    found = parsed(text)
    (script,) = found.all("script")
    assert script.text == (PARTS / "explanation.js").read_text("utf-8")
    assert not list(found.all("img"))
    assert found.one("h1").text == EVIL
    assert EVIL in found.one("title").text
    texts = {card.one("p", "text").text for card in found.all("li", "hit")}
    assert texts == {EVIL, "dough </style> ]]>"}
    assert "<script>document" not in text
    allowed = found.one("meta").attributes | list(found.all("meta"))[1].attributes
    assert "default-src 'none'" in allowed["content"]
    assert not any(name.startswith("on") for each in found.all("mark") for name in each.attributes)


def test_half_a_character_can_be_written(bundle: Bundle) -> None:
    hits = bundle.rank("dough \udcff", ["dough \ud800"], pipeline="bm25", explain=True)
    assert "dough ?" in page(bundle, "dough \udcff", list(hits), "r").encode().decode()


def test_what_was_marked_and_what_was_not_read_is_shown(bundle: Bundle) -> None:
    text = "Kneading the dough, kneaded dough, and later some dough"
    analysis = bundle.analysis("wordpieces")
    placed = list(analysis.placed(f"Bread\n{text}", "wordpieces"))
    # What is read ends before "and": both other doughs are there.
    last = next(at for at, (begin, _, _) in enumerate(placed) if begin == 6 + text.index("and"))
    part = Explanation(
        "dough", 2.0, source=("wordpieces", placed[-1][2]), query_token=("words", "dough")
    )
    stems = ("knead", "dough")
    found = Explanation(
        "cross-encoder", 2.0, (part,), read=ReadSpans("wordpieces", ((0, last),), stems)
    )
    card = shown(bundle, "dough", [Hit("x", 2.0, "Bread", text, 0, found)]).one("li", "hit")
    exact = "|".join(each.text for each in card.all("span", "exact")).replace("|", "").lower()
    assert exact == "kneadingdoughkneadeddough"
    assert "".join(each.text for each in card.all("span", "unread")).replace(" ", "") == (
        "andlatersomedough"
    )
    marks = [mark for mark in card.all("mark") if mark.attributes.get("data-by")]
    assert [mark.attributes["title"] for mark in marks] == ["adds 1.0000"] * 2  # the third: unread
    footer = shown(bundle, "dough", [Hit("x", 2.0, "Bread", text, 0, found)]).one("footer").text
    assert "Underlined" in footer
    assert "Italic" in footer


def test_a_score_without_parts_is_shown_as_such(bundle: Bundle) -> None:
    found = Explanation("inner product of the vectors", -0.5)
    whole = shown(bundle, "dough", [Hit("x", -0.5, "", "a text", 0, found)])
    card = whole.one("li", "hit")
    assert card.one("h2").text == "x"
    assert not list(card.all("mark"))
    assert amount(card.one("div", "why")) == -0.5
    assert "no parts by token" in whole.one("footer").text


def test_an_amount_that_takes_away_is_shown_as_such(bundle: Bundle) -> None:
    part = Explanation("dough", -1.0, source=("words", "dough"), query_token=("words", "dough"))
    hit = Hit("x", -1.0, "", "the dough", 0, Explanation.total("minus", [part]))
    (mark,) = shown(bundle, "dough", [hit]).all("mark")
    assert (mark.text, mark.attributes["title"]) == ("dough", "adds -1.0000")
    assert {"less", "faint"} <= set(mark.classes)
    bars = list(shown(bundle, "dough", [hit]).one("div", "why").all("div", "meter"))
    assert [bar.classes for bar in bars] == [["meter", "loss"]] * 2


def test_no_hits_are_told(bundle: Bundle) -> None:
    assert "No hits" in shown(bundle, "gnorp", []).one("main").text


def test_elements_escape_what_is_no_markup() -> None:
    assert (
        element("p", "<b>", Markup("<i>"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<i></p>'
    )


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_a_piece_of_the_query_shows_what_carried_it(
    bundle: Bundle, browser: Any, tmp_path: Path, scheme: str
) -> None:
    query, faults = "how long must a dough rise", []
    hits = bundle.rank(query, k=2, explain=True)
    own = bundle.rank(EVIL, [EVIL], explain=True)
    target = tmp_path / "page.html"
    target.write_text(page(bundle, query, [*hits, *own], EVIL), "utf-8")
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    shown = context.new_page()
    shown.on("pageerror", lambda error: faults.append(str(error)))
    shown.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    shown.goto(target.as_uri())
    assert shown.title().startswith(query)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    card = shown.locator(".hit").first
    heats = "marks => marks.map((mark) => mark.style.getPropertyValue('--heat'))"
    all_of_it = card.locator("mark").evaluate_all(heats)
    button = card.locator("button[data-asked]").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    number = button.get_attribute("data-asked")
    one = card.locator("mark").evaluate_all(
        "(marks, number) => marks.map((mark) => [mark.dataset.by.split(' ').some("
        "(pair) => pair.split(':')[0] === number), mark.classList.contains('faint')])",
        number,
    )
    assert all(carries or faint for carries, faint in one)
    assert any(carries and not faint for carries, faint in one)
    assert card.locator("tr.chosen").count() <= 1
    shown.keyboard.press("Escape")
    assert button.get_attribute("aria-pressed") == "false"
    assert [float(each) for each in card.locator("mark").evaluate_all(heats)] == pytest.approx(
        [float(each) for each in all_of_it]
    )
    unnamed = "all => all.filter((each) => !each.textContent.trim()).length"
    assert shown.locator("button").evaluate_all(unnamed) == 0
    assert faults == []
    context.close()
