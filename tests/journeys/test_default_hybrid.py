"""The default pipeline with an imported sentence encoder: every hit has marks, and parts add up."""

import csv
import json
from operator import itemgetter
from typing import Any

import pytest
from tests.conftest import DATA
from tests.explanations import check_sums
from tests.models import sentence_folder

from ranklet.handlers.api.answers import ANSWERS, write_hit
from ranklet.handlers.api.limits import Limits, Room
from ranklet.runtime import Ranking, load
from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.bundle import Bundle
from ranklet.workflows.build import build

pytestmark = pytest.mark.slow
QUERIES = ("how long must a dough rise", "my door makes a noise", "clean the windows", "zucchini")


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Return what `ranklet build` makes of a table and a model."""
    folder = tmp_path_factory.mktemp("hybrid")
    model = sentence_folder(folder / "model")
    lines = (DATA / "household.jsonl").read_text("utf-8").splitlines()
    with (folder / "table.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "title", "text"])
        for line in filter(itemgetter("text"), map(json.loads, lines)):
            table.writerow([line["id"], line.get("title", ""), line["text"]])
    built = build(folder / "table.csv", folder / "bundle", models=[model])
    return load(built.path, device="cpu")


def answers(bundle: Bundle) -> list[Ranking]:
    return [bundle.rank(query, k=8, explain=True) for query in QUERIES]


def check_words_of_sum(explanation: Explanation) -> None:
    """Check that each ranker's share has parts by word, and that no dense vector differs."""
    assert [part.label.partition("·")[2] for part in explanation.parts if part.value] != []
    for part in explanation.parts:
        assert part.reasons is None
        assert bool(part.parts) == bool(part.value)
        assert not [each for each in part.parts if "differs" in each.label]


def test_every_hit_has_marks_and_a_tree_that_adds_up(hybrid: Bundle) -> None:
    found_by = set()
    for ranking in answers(hybrid):
        assert len(ranking) > 1
        for hit in ranking:
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, abs=1e-6)
            check_sums(hit.explanation)
            check_words_of_sum(hit.explanation)
            shares = [part.label.partition("·")[2] for part in hit.explanation.parts if part.value]
            found_by.add(tuple(sorted(shares)))
            spans = hybrid.highlight(hit)
            assert sum(span.value for span in spans) > 0
            marked = {(span.begin, span.end) for span in spans if span.value > 0}
            assert 0 < len(marked) < len(hit.text)
    assert ("model",) in found_by  # a hit that only the encoder finds
    assert ("bm25", "model") in found_by


def test_api_and_page_show_the_same(hybrid: Bundle) -> None:
    for ranking in answers(hybrid):
        body = {"query": ranking.query, "k": 8, "explain": True, "highlight": True}
        answer: Any = ANSWERS["/rank"](hybrid, body, Limits(), None).body
        shown = [write_hit(hybrid, hit, Room(1 << 30)) for hit in ranking]  # as a page has them
        assert shown == answer["hits"]
        for hit, told in zip(ranking, answer["hits"], strict=True):
            assert hit.explanation is not None
            assert told["explanation"] == hit.explanation.to_dict()
            spans = [span for part in told["highlights"].values() for span in part]
            assert {round(span["value"], 9) for span in spans} == {
                round(span.value, 9) for span in hybrid.highlight(hit)
            }


def test_a_notebook_marks_every_hit_too(hybrid: Bundle) -> None:
    for query in QUERIES:
        for explain in (True, False):
            ranking = hybrid.rank(query, k=8, explain=explain)
            table = ranking._repr_html_()
            rows = table.split("<tr>")[1:]
            assert len(rows) == len(ranking)
            assert ranking.marks is not None
            assert all(ranking.marks(hit) for hit in ranking)
            assert sum("<mark>" in row for row in rows) > len(rows) / 2  # long texts are cut


def test_a_terminal_shows_few_rows(hybrid: Bundle) -> None:
    for ranking in answers(hybrid):
        for hit in ranking:
            assert hit.explanation is not None
            rows = hit.explanation.text(10).splitlines()
            assert len(rows) <= 11
            assert "0.0000" not in "".join(row for row in rows if "below 0.00005" not in row)
            assert all("##" not in row for row in rows)
