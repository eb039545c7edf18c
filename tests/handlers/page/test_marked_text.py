"""Marks on a text: which characters, how much, and how they are drawn."""

from typing import Any

import pytest
from tests.handlers.page.parsed import amount, shown

from ranklet.handlers.page.marked_text import pieces
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.explanation import Explanation, ReadSpans
from ranklet.runtime.hits import Hit


def test_the_marks_of_a_query_token_add_up_to_its_amount(bundle: Bundle) -> None:
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
        carried = sum(piece.by_query_token.get(number, 0.0) for piece in (*title, *text))
        assert carried == pytest.approx(wanted, rel=1e-9)
    card = shown(bundle, query, [hit]).one("li", "hit")
    buttons = {each.attributes["data-query-token"]: each for each in card.all("button")}
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
    assert "italics" in footer


def test_an_amount_that_takes_away_is_shown_as_such(bundle: Bundle) -> None:
    part = Explanation("dough", -1.0, source=("words", "dough"), query_token=("words", "dough"))
    hit = Hit("x", -1.0, "", "the dough", 0, Explanation.total("minus", [part]))
    (mark,) = shown(bundle, "dough", [hit]).all("mark")
    assert (mark.text, mark.attributes["title"]) == ("dough", "adds -1.0000")
    assert {"less", "faint"} <= set(mark.classes)
    bars = list(shown(bundle, "dough", [hit]).one("div", "why").all("div", "meter"))
    assert [bar.classes for bar in bars] == [["meter", "loss"]] * 2
