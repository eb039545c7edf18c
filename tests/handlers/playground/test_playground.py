"""The page in a real browser: what people see, with and without scripts, and who can use it."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Described
    from tests.handlers.conftest import Server, Start

pytestmark = [pytest.mark.clients, pytest.mark.slow]
EVIL = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> dough"
BUDGET = 60_000  # bytes of all that a page with hits loads
QUERY = "wash it with water and oil every day"


def ask(page: Any, query: str) -> None:
    before = page.url
    page.get_by_label("Query").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_function("before => location.href !== before", arg=before)


def test_hits_come_at_once_and_reasons_when_they_are_opened(server: "Server", page: Any) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.goto(server.url)
    ask(page, "rising dough")
    first = page.locator(".hit").first
    assert "dough" in "".join(first.locator("mark").all_inner_texts()).lower()
    assert " ms" in page.get_by_role("status").inner_text()
    assert page.locator(".why").count() == 0
    assert "?q=rising+dough" in page.url
    score = float(first.locator(".score").inner_text())
    first.get_by_role("link", name="Why this score?").press("Enter")
    page.wait_for_selector(".why")
    assert float(first.locator(".why .amount").first.inner_text()) == pytest.approx(score, abs=2e-4)
    assert page.evaluate("document.activeElement.textContent") == "Why this score?"
    assert page.locator(".why").count() == 1
    assert sum("rank" in each for each in sent) == 0


def test_pages_and_history_are_links(server: "Server", page: Any) -> None:
    page.goto(f"{server.url}/?q={QUERY}&k=3")
    titles = page.locator(".hit h2").all_inner_texts()
    page.get_by_role("link", name="Next →").click()
    page.wait_for_selector("#hit-4")
    assert page.locator(".hit h2").all_inner_texts()[0] not in titles
    page.go_back()
    page.wait_for_selector("#hit-1")
    assert page.locator(".hit h2").all_inner_texts() == titles


def test_the_page_works_without_scripts(server: "Server", browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server.url)
    page.get_by_label("Query").fill(QUERY)
    page.get_by_role("button", name="Search").click()
    assert page.locator(".hit").count() > 3
    page.goto(f"{server.url}/?q={QUERY}&k=3")
    page.get_by_role("link", name="Next →").click()
    assert page.locator("#hit-4").count() == 1
    page.locator("#hit-5").get_by_role("link", name="Why this score?").click()
    assert page.locator("#hit-5 .why").count() == 1
    assert (
        page.locator("#theme, #add, #key").evaluate_all(
            "all => all.filter((e) => e.checkVisibility()).length"
        )
        == 0
    )
    context.close()


def test_own_texts_are_ranked_and_markup_stays_text(server: "Server", page: Any) -> None:
    page.goto(server.url)
    page.get_by_text("Rank my own texts").click()
    page.get_by_label("Your texts, one per line").fill(f"wash the windows\n{EVIL}\nknead")
    page.get_by_label("Query").fill("dough </script><b>")
    page.get_by_role("button", name="Rank these").click()
    page.wait_for_selector(".hit")
    assert "<img src=x onerror=" in page.locator(".hit").first.inner_text()
    assert page.locator("#results img, #results script").count() == 0
    assert page.title() != "taken"


def test_errors_appear_in_the_status_line(server: "Server", page: Any) -> None:
    page.goto(server.url)
    page.route("**/?q=*", lambda route: route.abort())
    page.get_by_label("Query").fill("dough")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status .error")
    assert "cannot be reached" in page.get_by_role("status").inner_text()


def test_the_page_has_a_field_for_the_api_key(start: "Start", page: Any) -> None:
    with start(RANKLET_API_KEY="open") as server:
        page.goto(f"{server.url}/?q=dough")
        field = page.get_by_label("Enter the key")
        field.fill("shut")
        field.press("Enter")
        page.get_by_text("This key does not open this search.").wait_for()
        field.fill("open")
        field.press("Enter")
        page.wait_for_selector(".hit")
        assert not field.is_visible()
        assert page.get_by_label("Query").input_value() == "dough"
        page.reload()  # the key is kept until the window closes
        page.wait_for_selector(".hit")


def test_the_keyboard_is_enough(server: "Server", page: Any) -> None:
    page.goto(f"{server.url}/?q={QUERY}")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.hit').id") == "hit-2"
    page.keyboard.press("Enter")
    page.wait_for_selector("#hit-2 details[open]")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "query"


def test_a_page_is_small(server: "Server", page: Any) -> None:
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(len(response.body())))
    page.goto(f"{server.url}/?q={QUERY}")
    page.wait_for_load_state("networkidle")
    assert 3 <= len(sizes) <= 4
    assert sum(sizes) <= BUDGET


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 400])
def test_everybody_can_use_it(
    described: "Described", start: "Start", browser: Any, width: int, scheme: str
) -> None:
    """Names, roles, contrast: axe finds nothing wrong, and nothing is wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    with start(described.path, RANKLET_WRITE_KEYS="w") as server:
        for address in ("/", "/?q=bread", "/?q=bread&why=1", "/?q=gnarp&is.open=true", "/docs"):
            page.goto(server.url + address)
            page.locator("details").evaluate_all("all => all.forEach((each) => each.open = true)")
            found = axe.run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.goto(server.url)
        page.get_by_role("button", name="Dark colours").click()
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == (
            "light" if scheme == "dark" else "dark"
        )
    context.close()


def test_hits_come_while_a_query_is_typed(server: "Server", page: Any) -> None:
    page.goto(f"{server.url}/?q=window")
    steps = page.evaluate("history.length")
    query = page.get_by_label("Query")
    query.fill("")
    query.press_sequentially("knead the dou", delay=150)
    page.wait_for_function("() => location.search === '?q=knead+the+dou'")
    assert "dough" in page.locator(".hit").first.inner_text().lower()
    assert page.evaluate("document.activeElement.id") == "query"
    assert page.evaluate("history.length") == steps + 1  # however many letters
    query.press("Enter")
    page.wait_for_function("() => !document.querySelector('[aria-busy]')")
    assert page.evaluate("history.length") == steps + 1
    page.go_back()
    page.wait_for_function("() => document.getElementById('query').value === 'window'")


def test_what_is_typed_is_completed(server: "Server", page: Any) -> None:
    page.goto(server.url)
    query = page.get_by_label("Query")
    query.press_sequentially("dou")
    page.wait_for_selector("#completions li")
    assert query.get_attribute("aria-expanded") == "true"
    query.press("ArrowDown")
    chosen = page.locator("#completions [aria-selected=true]")
    assert query.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    assert query.input_value() == chosen.get_attribute("data-text")
    query.press("Escape")
    assert not page.locator("#completions").is_visible()
    query.fill("")
    query.press_sequentially("dou")
    page.locator("#completions li").first.click()
    page.wait_for_selector(".hit")
    assert not page.locator("#completions").is_visible()
    assert query.input_value().lower().startswith("dou")
