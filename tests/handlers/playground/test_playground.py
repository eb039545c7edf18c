"""The playground in a real browser: what people see, and what a hostile document cannot do."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.handlers.conftest import Server, Start

pytestmark = [pytest.mark.clients, pytest.mark.slow]
EVIL = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> dough"


def ask(page: Any, query: str) -> None:
    page.get_by_label("Query").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit, .status.error")


def test_a_question_is_answered_with_marks_and_reasons(server: "Server", page: Any) -> None:
    page.goto(server.url)
    ask(page, "rising dough")
    first = page.locator(".hit").first
    # Word by word, and word piece by word piece: a piece's mark lies on a part of its word.
    assert "dough" in "".join(first.locator("mark").all_inner_texts()).lower()
    assert "ranked and explained in" in page.get_by_role("status").inner_text()
    assert page.locator("#timing dt").count() >= 2
    assert "retrieve 1000 by bm25" in page.locator("#timing").inner_text()
    why = first.get_by_role("button", name="Why this score?")
    why.click()
    assert why.get_attribute("aria-expanded") == "true"
    amounts = first.locator(".why .amount").all_inner_texts()
    score = float(first.locator(".score").inner_text())
    assert float(amounts[0]) == pytest.approx(score, abs=2e-4)
    assert "?q=rising+dough" in page.url


def test_a_link_asks_its_question(server: "Server", page: Any) -> None:
    page.goto(f"{server.url}/?q=oil+the+hinges")
    page.wait_for_selector(".hit")
    assert page.get_by_label("Query").input_value() == "oil the hinges"


def test_own_texts_are_ranked_and_markup_stays_text(server: "Server", page: Any) -> None:
    page.goto(server.url)
    page.get_by_label("Rank my own texts").check()
    page.get_by_label("Your texts, one per line").fill(f"wash the windows\n{EVIL}\nknead")
    ask(page, "dough </script><b>")
    assert "<img src=x onerror=" in page.locator(".hit").first.inner_text()
    assert page.locator("#results img, #results script").count() == 0
    assert page.title() != "taken"


def test_errors_appear_in_the_status_line(server: "Server", page: Any) -> None:
    page.goto(server.url)
    page.get_by_label("Rank my own texts").check()
    page.get_by_label("Query").fill("dough")
    page.keyboard.press("Enter")
    assert "at least one text" in page.get_by_role("status").inner_text()
    page.get_by_label("Rank my own texts").uncheck()
    page.route("**/rank", lambda route: route.abort())
    ask(page, "dough")
    assert page.locator(".status.error").count() == 1


def test_the_page_has_a_field_for_the_api_key(start: "Start", page: Any) -> None:
    with start(RANKLET_API_KEY="open") as server:
        page.goto(server.url)
        field = page.get_by_label("This server needs an API key")
        field.fill("open")
        field.press("Tab")
        page.wait_for_selector("#examples button")
        ask(page, "dough")
        assert page.locator(".hit").count() > 0


def test_the_keyboard_is_enough_and_everything_has_a_name(server: "Server", page: Any) -> None:
    page.goto(server.url)
    ask(page, "dough")
    page.get_by_label("Query").evaluate("field => field.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert {"Rank", "Copy as curl", "Why this score?"} <= reached
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, a")]
        .filter((each) => !each.textContent.trim() && !each.labels?.length
          && !each.getAttribute("aria-label")).length"""
    )
    assert unnamed == 0
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


def test_no_more_hits_are_offered_than_the_server_explains(start: "Start", page: Any) -> None:
    for most, offered in (("7", ["5"]), ("3", ["3"])):
        with start(RANKLET_MAX_EXPLAINED=most) as server:
            page.goto(server.url)
            ask(page, "wash it with water and oil every day")
            assert page.locator("#k option").all_inner_texts() == offered
            assert page.locator(".hit").count() == int(offered[0])
