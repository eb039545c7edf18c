"""The page for judging in a real browser: mouse, keys, names for screen readers, restarts."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.judging import Judging, judging

from ranklet.corpus.collections.trec import read_qrels
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built

pytestmark = [pytest.mark.clients, pytest.mark.slow]
QUERIES = ["wash it with water and oil every day", "dry chain and dough", "turn the string"]


@pytest.fixture
def judge(built: "Built", tmp_path: Path) -> Iterator[Judging]:
    with judging(built.fused, QUERIES, tmp_path / "judged") as found:
        yield found


def saved(judge: Judging) -> dict[str, dict[str, int]]:
    return read_qrels(judge.folder / "qrels.train.txt")


def says(page: Any, text: str) -> None:
    page.get_by_role("status").get_by_text(text).wait_for()


def documents(page: Any) -> list[str]:
    page.wait_for_selector("#results .hit")
    found: list[str] = page.locator("#results .hit").evaluate_all(
        "all => all.map((each) => each.dataset.document)"
    )
    return found


def test_the_others_are_those_that_nobody_has_marked(judge: Judging, page: Any) -> None:
    page.goto(f"{judge.url}/#%E0%A4%A")  # no query is called so
    first, second, *_ = documents(page)
    judge.ask("/marks", {"query": "q1", "grades": {first: 1}})  # by somebody else
    rest = page.get_by_role("button", name="None of these is relevant")
    rest.evaluate("(rest) => (document.querySelectorAll('.hit .yes')[1].click(), rest.click())")
    says(page, "The others are not relevant")
    marks = saved(judge)["q1"]
    assert (marks.pop(first), marks.pop(second)) == (1, 1)
    assert set(marks.values()) == {0}


def test_a_mouse_is_enough(judge: Judging, page: Any) -> None:
    page.goto(judge.url)
    first, second, *_ = documents(page)
    page.locator(".hit").nth(0).get_by_role("button", name="Relevant", exact=True).click()
    says(page, "This query has 1 relevant and 0 not relevant.")
    page.locator(".hit").nth(1).get_by_role("button", name="Not relevant").click()
    says(page, "This query has 1 relevant and 1 not relevant.")
    assert saved(judge) == {"q1": {first: 1, second: 0}}
    pressed = page.locator('.hit [aria-pressed="true"]').all_inner_texts()
    assert [each.split()[-2:] for each in pressed] == [["✓", "Relevant"], ["Not", "relevant"]]
    page.locator(".hit").nth(0).get_by_role("button", name="Relevant", exact=True).click()
    says(page, "has no mark")
    assert saved(judge) == {"q1": {second: 0}}
    page.get_by_role("button", name="None of these is relevant").click()
    says(page, "None of these is relevant")
    assert set(saved(judge)["q1"]) == set(documents(page))
    page.get_by_role("button", name="Next query").first.click()
    page.get_by_role("heading", name=QUERIES[1]).wait_for()
    assert page.locator("#place").inner_text() == "Query 2 of 3"
    assert page.locator("#done").inner_text() == "· 1 judged"
    page.get_by_text("All queries").click()
    page.get_by_role("button", name=f"{QUERIES[2]} no marks").click()
    page.get_by_role("heading", name=QUERIES[2]).wait_for()


def test_other_words_find_more_and_marks_stay_in_view(judge: Judging, page: Any) -> None:
    page.goto(judge.url)
    (first, *_) = documents(page)
    page.keyboard.press("1")
    says(page, "Saved")
    page.keyboard.press("/")
    page.keyboard.type("squeaks sprockets n1")  # no shortcut while somebody types
    page.keyboard.press("Enter")
    page.locator("#others .hit").wait_for()
    assert page.locator("#others .hit").get_attribute("data-document") == first
    (found, *_) = documents(page)
    assert found == "bicycle-chain"
    page.locator("#results .hit").first.get_by_role("button", name="Relevant", exact=True).click()
    says(page, "2 relevant")
    assert saved(judge) == {"q1": {first: 1, found: 1}}
    page.get_by_role("button", name="Back to the query").click()
    page.locator(f'#results [data-document="{first}"]').wait_for()


def test_degrees_and_none_of_these_by_keys_and_by_mouse(tmp_path: Path, page: Any) -> None:
    rows = [
        {"id": f"p{at}", "text": "dough", "price": 1299.5, "open": True, "tag": "<b>x"}
        for at in range(3)
    ]
    bundle = Path(build(rows, tmp_path / "bundle"))
    with judging(bundle, ["dough", "dough again"], tmp_path / "judged") as judge:
        page.goto(judge.url)
        assert len(documents(page)) == 3
        assert page.locator(".facts").first.inner_text().split() == [
            "open", "yes", "price", "1299.5", "tag", "<b>x",
        ]  # fmt: skip
        page.get_by_role("button", name="None of these is relevant").click()
        says(page, "None of these is relevant")
        assert set(saved(judge)["q1"].values()) == {0}
        page.keyboard.press("n")
        page.get_by_role("heading", name="dough again").wait_for()
        page.wait_for_selector("#results .hit")
        page.keyboard.press("g")
        page.get_by_role("button", name="Perfect").first.wait_for()
        for key in ("j", "3", "j", "2"):
            page.keyboard.press(key)
        says(page, "2 relevant and 0 not relevant")
        page.locator(".hit").nth(2).get_by_role("button", name="Somewhat").click()
        says(page, "3 relevant")
        assert sorted(saved(judge)["q2"].values()) == [1, 2, 3]
        page.reload()  # degrees that are there stay in use
        page.wait_for_selector("#results .hit")
        pressed = page.locator('.hit [aria-pressed="true"]').all_inner_texts()
        assert sorted(each.split()[0] for each in pressed) == ["1", "2", "3"]
        page.keyboard.press("g")
        page.get_by_role("button", name="Relevant", exact=True).first.click()
        says(page, "has no mark")
        assert len(saved(judge)["q2"]) == 2


def test_markup_stays_text_and_everything_has_a_name(tmp_path: Path, page: Any) -> None:
    evil = "<img src=x onerror=\"document.title='taken'\"> dough"
    texts = [{"id": f'"]{evil.split()[0]}{n}', "title": evil, "text": evil} for n in range(12)]
    bundle = Path(build(texts, tmp_path / "bundle"))
    with judging(bundle, [f"dough {evil}"], tmp_path / "judged") as judge:
        page.goto(judge.url)
        assert len(documents(page)) == 10
        page.keyboard.press("1")
        says(page, "Saved")
        page.get_by_role("button", name="More documents").click()
        page.locator(".hit").nth(11).wait_for()
        assert page.locator("main img, main script").count() == 0
        assert "taken" not in page.title().split(" · ")[1]
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("button, input, a")]
            .filter((each) => !each.textContent.trim() && !each.labels?.length).length"""
        )
        assert unnamed == 0
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
