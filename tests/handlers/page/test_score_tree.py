"""The score taken apart: amounts that add up, and query tokens in the query's order."""

from typing import Any

import pytest
from tests.handlers.page.parsed import amount, check_tables, check_tree, shown

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Hit

PIPELINES = ("bm25", "bm25_pieces", "rrf", "linear")


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
    # A piece of a query's word may stand in several words of a text, which are pairs, too.
    if pipeline != "bm25_pieces":
        with_pairs = pipeline in ("linear", "rrf") or pipeline.startswith("model1")
        assert bool(list(found.all("table"))) == with_pairs
    assert list(found.all("button"))
    assert bool(list(found.all("div", "reasons"))) == (pipeline == "rrf")


def test_pieces_stand_in_the_order_of_the_query(bundle: Bundle) -> None:
    for query, wanted in (("dough bread", ["dough", "bread"]), ("bread dough", ["bread", "dough"])):
        hit = bundle.explained(query, "bread", pipeline="bm25")
        buttons = shown(bundle, query, [hit]).all("button")
        assert [str(each.children[0]) for each in buttons] == wanted


def test_a_score_without_parts_is_shown_as_such(bundle: Bundle) -> None:
    found = Explanation("inner product of the vectors", -0.5)
    whole = shown(bundle, "dough", [Hit("x", -0.5, "", "a text", 0, found)])
    card = whole.one("li", "hit")
    assert card.one("h2").text == "x"
    assert not list(card.all("mark"))
    assert amount(card.one("div", "why")) == -0.5
    assert "no parts by token" in whole.one("footer").text
