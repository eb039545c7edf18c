"""The page of explained hits: its texts are whole, all of it is escaped, and a browser shows it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.handlers.page.parsed import parsed, shown

from ranklet.handlers.page.page import PARTS, page
from ranklet.runtime.bundle import Bundle

if TYPE_CHECKING:
    from tests.conftest import Described

EVIL = "<script>document.title='taken'</script><img src=x onerror=alert(1)> \"dough\" & 'x'"
PIPELINES = ("bm25", "bm25_pieces", "rrf", "linear")


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


def test_metadata_is_shown_and_stays_text(described: "Described") -> None:
    where = {"year": {"missing": False}}
    (hit,) = described.bundle.rank("bread", k=1, explain=True, where=where)
    hit = replace(hit, metadata={**hit.metadata, "<b>": EVIL})
    card = parsed(page(described.bundle, "bread", [hit], "r")).one("li", "hit")
    text = card.one("p", "metadata").text
    assert f"year: {hit.metadata['year']}" in text
    assert "<b>: <script>" in text


def test_half_a_character_can_be_written(bundle: Bundle) -> None:
    hits = bundle.rank("dough \udcff", ["dough \ud800"], pipeline="bm25", explain=True)
    assert "dough ?" in page(bundle, "dough \udcff", list(hits), "r").encode().decode()


def test_a_page_without_hits_says_so(bundle: Bundle) -> None:
    assert "No hits" in shown(bundle, "gnorp", []).one("main").text


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_a_query_token_shows_its_own_marks(
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
    button = card.locator("button[data-query-token]").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    number = button.get_attribute("data-query-token")
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
