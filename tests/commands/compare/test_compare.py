import json
from pathlib import Path

import pytest

from ranklet.commands import main
from ranklet.workflows.build import build

TEXTS = {"a": "cats sleep", "b": "cats and dogs", "c": "dogs bark", "d": "birds sing <b>"}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("compare")
    rows = [{"id": name, "title": text, "text": f"{text} always"} for name, text in TEXTS.items()]
    targets = [str(folder / "one"), str(folder / "other")]
    build(rows, targets[0], language="en")
    build(rows[1:], targets[1], language="en")
    (folder / "q.txt").write_text("cats\n\nbirds\n", "utf-8")
    (folder / "q.jsonl").write_text('{"text": "cats"}\n', "utf-8")
    return [*targets, str(folder / "q.txt"), str(folder / "q.jsonl")]


def test_the_most_changed_queries_come_first(
    bundles: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    one, other, queries, _ = bundles
    assert main(["compare", one, other, queries]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:5] == [
        f"A is {one} (bm25)", f"B is {other} (bm25)", "2 queries, the first 10 hits of each",
        "1 have the same hits in the same order, 1 the same hits in any order, 1 the same "
        "first hit",
        "mean overlap 75.0%, mean rank-biased overlap 0.725 (p = 0.9)",
    ]  # fmt: skip
    assert said[6] == "0.45  cats"
    assert said[7:9] == ["       2 → 1    b  cats and dogs", "       1 → out  a  cats sleep"]
    assert "birds" not in "".join(said[6:])


def test_queries_may_be_json_lines_and_answers_are_json(
    bundles: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    one, other, _, queries = bundles
    assert main(["compare", one, other, queries, "--json", "-k", "1"]) == 0
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["query"], found["overlap"], found["rbo"]) == ("cats", 0, 0)
    assert found["changed"] == [
        {"id": "b", "before": None, "after": 1}, {"id": "a", "before": 1, "after": None},
    ]  # fmt: skip


def test_a_page_shows_all_queries_and_escapes_texts(bundles: list[str], tmp_path: Path) -> None:
    one, other, queries, _ = bundles
    page = tmp_path / "page.html"
    assert main(["compare", one, other, queries, "--html", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "<h2>cats</h2>" in text
    assert "<h2>Queries with the same hits</h2><p>birds</p>" in text
    page.write_text("mine", "utf-8")
    assert main(["compare", one, other, queries, "--html", str(page)]) == 1
    assert page.read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "A and B are the same; give two bundles, or two pipelines"),
        (["--pipelines", "bm25,bm25"], "A and B are the same"),
        (["--pipelines", "bm25"], "give one of each bundle, such as bm25,hybrid"),
        (["--pipelines", "bm25,none"], "unknown pipeline 'none'"),
        (["-k", "0"], "-k must be a whole number"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    bundles: list[str], capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(["compare", bundles[0], bundles[0], bundles[2], *more]) == 1
    assert message in capsys.readouterr().err
