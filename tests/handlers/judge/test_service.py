"""The server of the page for judging, over real HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.judging import Judging, judging

from ranklet.corpus.collections.trec import read_qrels

if TYPE_CHECKING:
    from tests.conftest import Built

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judge(built: "Built", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judging]:
    folder = tmp_path_factory.mktemp("judge") / "judged"
    with judging(built.fused, ["knead dough", "dry chain"], folder) as found:
        yield found


def saved(judge: Judging) -> dict[str, dict[str, int]]:
    return read_qrels(judge.folder / "qrels.train.txt")


def test_marks_are_in_the_file_before_the_answer(judge: Judging) -> None:
    status, state = judge.ask("/state")
    assert status == 200
    assert [each["text"] for each in state["queries"]] == ["knead dough", "dry chain"]
    assert (state["documents"], state["split"]) == (42, "train")
    status, answer = judge.ask("/rank", {"query": "dough", "k": 3})
    assert status == 200
    first = answer["hits"][0]
    assert first["id"] == "bread"
    assert first["highlights"]["text"]
    for grades, wanted in [
        ({"bread": 1}, {"bread": 1}),
        ({"sourdough": 0, "roses": 0}, {"bread": 1, "sourdough": 0, "roses": 0}),
        ({"bread": 0}, {"bread": 0, "sourdough": 0, "roses": 0}),
        ({"roses": None, "bread": 3}, {"bread": 3, "sourdough": 0}),
    ]:
        assert judge.ask("/marks", {"query": "q1", "grades": grades}) == (200, {"marks": wanted})
        assert saved(judge)["q1"] == wanted
    assert judge.ask("/state")[1]["queries"][0]["marks"] == saved(judge)["q1"]
    judge.ask("/marks", {"query": "q1", "grades": {"bread": 0, "roses": 0}, "keep": True})
    _, answer = judge.ask("/rank", {"query": "dough", "k": 1, "of": "q1"})
    assert answer["marks"] == saved(judge)["q1"] == {"bread": 3, "sourdough": 0, "roses": 0}
    assert "Pruning roses" in {each["title"] for each in answer["others"]}


def test_judgements_of_any_degree_and_of_unknown_documents_are_shown(
    built: "Built", tmp_path: Path
) -> None:
    with judging(built.fused, ["knead dough"], tmp_path / "judged") as judge:
        with (judge.folder / "qrels.train.txt").open("a") as file:
            file.write("q1 0 roses 3\nq1 0 sourdough -1\nq1 0 gone 1\n")
        status, answer = judge.ask("/rank", {"query": "who is", "k": 1, "of": "q1"})
        assert (answer["hits"], answer["ignored"]) == ([], ["who", "is"])
        assert (status, answer["marks"]) == (200, {"roses": 3, "sourdough": 0, "gone": 1})
        assert {each["id"] for each in answer["others"]} == {"roses", "sourdough"}
        judge.ask("/marks", {"query": "q1", "grades": {"bread": 0}})
        assert saved(judge)["q1"] == {"roses": 3, "sourdough": -1, "gone": 1, "bread": 0}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"query": "q1", "grades": {"nowhere": 1}}, 404, "unknown document id 'nowhere'"),
        ({"query": "q9", "grades": {"bread": 1}}, 422, "unknown query 'q9'"),
        ({"query": "q1", "grades": {"bread": 4}}, 422, "0, 1, 2, 3 or null"),
        ({"query": "q1", "grades": {"bread": True}}, 422, "0, 1, 2, 3 or null"),
        ({"query": "q1", "grades": {"bread": 1.0}}, 422, "0, 1, 2, 3 or null"),
        ({"query": "q1", "grades": {}}, 422, "must be an object"),
        ({"query": "q1"}, 422, "must be an object"),
        ({"grades": {"bread": 1}}, 422, "'query' is missing"),
    ],
)
def test_wrong_marks_change_nothing(
    judge: Judging, body: dict[str, object], status: int, message: str
) -> None:
    before = (judge.folder / "qrels.train.txt").read_bytes()
    found, answer = judge.ask("/marks", body)
    assert found == status
    assert message in answer["error"]
    assert (judge.folder / "qrels.train.txt").read_bytes() == before


def test_other_sites_cannot_mark(judge: Judging) -> None:
    before = (judge.folder / "qrels.train.txt").read_bytes()
    body = {"query": "q2", "grades": {"bread": 1}}
    port = judge.url.rpartition(":")[2]
    for headers, status in (
        ({"Host": "evil.example"}, 403),
        ({"Host": f"evil.example:{port}"}, 403),
        ({"Host": f"127.0.0.1.evil.example:{port}"}, 403),
        ({"Host": ""}, 403),
        ({"Host": f"10.0.0.1:{port}"}, 403),
        ({"Host": "evil.example", "X-Forwarded-Host": f"127.0.0.1:{port}"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"https://127.0.0.1:{port}"}, 403),
        ({"Content-Type": "text/plain"}, 415),  # what a form can send without being asked
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ):
        assert judge.ask("/marks", body, headers)[0] == status, headers
    assert judge.ask("/state", headers={"Host": "evil.example"})[0] == 403
    assert (judge.folder / "qrels.train.txt").read_bytes() == before
    assert judge.ask("/state/")[0] == 404
    own = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert judge.ask("/marks", body, own)[0] == 200
    judge.ask("/marks", {"query": "q2", "grades": {"bread": None}})


def test_a_mark_that_cannot_be_saved_is_reported(built: "Built", tmp_path: Path) -> None:
    with judging(built.fused, ["dough"], tmp_path / "judged") as judge:
        (tmp_path / "judged").rename(tmp_path / "moved")
        status, answer = judge.ask("/marks", {"query": "q1", "grades": {"bread": 1}})
        assert status == 500
        assert "qrels.train.txt" in answer["error"]
