"""Documents that are split into passages, from the file to every answer."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands.running import Capture, succeeds
from tests.damage import change_array
from tests.handlers.aws.conftest import Context

from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.handlers.api import answers
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.aws.function import Function
from ranklet.handlers.playground.explained_page import explained_page
from ranklet.runtime import Bundle
from ranklet.runtime.bundles.files import PASSAGES
from ranklet.runtime.ground.errors import BundleError, UnknownDocumentError
from ranklet.runtime.rankers.verification import verify
from ranklet.workflows.build import build

RIVER = "The river is wide. Boats cross the river slowly. The ferry waits at night."
ROWS = [
    {"id": "a/1", "title": "Water", "text": RIVER},
    {"id": "b", "title": "", "text": "One river flows here."},
    {"id": "c", "title": "Town", "text": "Houses stand close. The market opens early today."},
    {"id": "d", "title": "", "text": "Nothing of note."},
]
QUERIES = {"q1": ("ferry at night", "a/1"), "q2": ("market today", "c"), "q3": ("flows here", "b")}
SPLIT = SourceOptions(passage_words=5, overlap_words=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(build(ROWS, tmp_path_factory.mktemp("built") / "b.ranklet", source=SPLIT))


@pytest.fixture(scope="module")
def bundle(path: Path) -> Bundle:
    return Bundle(path, check="full")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    lines = [json.dumps({"_id": name, "text": text}) for name, (text, _) in QUERIES.items()]
    (folder / "queries.test.jsonl").write_text("\n".join(lines))
    qrels = [f"{name} 0 {document} 1" for name, (_, document) in QUERIES.items()]
    (folder / "qrels.test.txt").write_text("\n".join(qrels))
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return folder


def test_a_bundle_has_as_many_documents_as_its_user(bundle: Bundle) -> None:
    assert (len(bundle), bundle.passages, bundle.manifest.documents) == (4, 7, 7)
    assert "4 documents in 7 passages" in repr(bundle)


def test_each_document_appears_once_with_its_best_passage(bundle: Bundle) -> None:
    ranking = bundle.rank("river ferry")
    assert [(hit.id, hit.passage) for hit in ranking] == [("a/1", 3), ("b", None)]
    assert [hit.index for hit in ranking] == [0, 1]
    found = {hit.id: hit.index for hit in bundle.only({}).rank("market flows note")}
    assert found == {"b": 1, "c": 2, "d": 3}
    assert ranking[0].text == "The ferry waits at night."
    assert [name for name, _ in bundle.rank_ids("river ferry")] == ["a/1", "b"]
    shown = {hit["id"]: hit.get("passage") for hit in bundle.rank("river").to_dict()["hits"]}
    assert shown == {"a/1": 1, "b": None}


def test_a_document_is_whole_again(bundle: Bundle) -> None:
    assert [bundle.document(row["id"]).to_dict() for row in ROWS] == ROWS
    with pytest.raises(UnknownDocumentError, match=r"did you mean 'a/1'.*4 documents"):
        bundle.document("a1")


def test_a_score_is_the_best_passages(bundle: Bundle) -> None:
    ranking = bundle.rank("river ferry")
    scores = bundle.score("river ferry", ids=["b", "a/1", "d"])
    assert scores.tolist() == pytest.approx(
        [ranking[1].score, ranking[0].score, 0.0], rel=1e-5, abs=1e-6
    )
    parts = [each.text for each in Source(ROWS, SPLIT).documents() if each.id == "a/1"]
    titled = [{"title": "Water", "text": part} for part in parts]
    assert max(bundle.score("river ferry", titled)) == pytest.approx(ranking[0].score, rel=1e-5)
    assert bundle.score("river", ids=[]).tolist() == []


def test_the_best_passage_is_explained(bundle: Bundle) -> None:
    hit = bundle.explained("ferry", "a/1")
    assert (hit.id, hit.passage, hit.text) == ("a/1", 3, "The ferry waits at night.")
    assert bundle.explain("ferry", "a/1").value == pytest.approx(
        bundle.rank("ferry")[0].score, rel=1e-5, abs=1e-6
    )
    assert bundle.explained("ferry", "c").passage in (1, 2)  # no passage of it matches


@pytest.mark.parametrize("keep", [[], [{"stage": "keep", "k": 4}]])
def test_passages_of_one_document_do_not_keep_others_out(tmp_path: Path, keep: list[Any]) -> None:
    many = " ".join("The river is deep." for _ in range(200))
    rows = [
        {"id": "a", "text": many},
        *({"id": f"b{n}", "text": f"A river, {'x ' * 9}"} for n in range(9)),
    ]
    path = Path(build(rows, tmp_path / "b", source=SourceOptions(passage_words=4, overlap_words=0)))
    bundle, pipeline = Bundle(path), [{"stage": "retrieve", "ranker": "bm25", "k": 8}, *keep]
    for k in (1, 3, 50):
        ranking = bundle.rank("river", k=k, pipeline=pipeline)
        assert len({hit.id for hit in ranking}) == len(ranking) == min(k, 10)
        assert len(bundle.rank_ids("river", k=k, pipeline=pipeline)) == min(k, 10)
        timings = [timing.stage for timing in ranking.timings]
        assert ("retrieve 32 by bm25" in timings) == (k > 1)
    assert len(bundle.rank("deep", k=50, pipeline=pipeline)) == 1  # the list ends
    whole = [{"stage": "retrieve", "ranker": "bm25", "k": 500}]
    every = bundle.rank_ids("river", k=50, pipeline=whole)
    for k in range(1, 11):  # also if only the first list is read
        found = bundle.rank("river", k=k, pipeline=whole, budget_ms=0)
        assert [(hit.id, hit.score) for hit in found] == every[:k]


def test_a_spent_budget_leaves_the_first_lists(bundle: Bundle) -> None:
    assert [hit.id for hit in bundle.rank("river ferry", budget_ms=0)] == ["a/1", "b"]


def test_every_answer_names_the_passage(
    bundle: Bundle, path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits()
    body = {"query": "ferry", "id": "a/1"}
    (hit,) = answers.rank(bundle, {"query": "ferry"}, limits).body["hits"]  # type: ignore[call-overload]
    assert (hit["id"], hit["passage"]) == ("a/1", 3)
    explained = answers.explain(bundle, body, limits).body
    assert list(explained) == ["query", "id", "score", "index", "passage", "explanation"]
    info = answers.info(bundle, limits)
    assert (info["documents"], info["passages"]) == (4, 7)

    monkeypatch.setenv("RANKLET_BUNDLE", str(path))
    function = Function({})
    function.load(must=True)
    assert function({"query": "ferry"}, Context())["hits"][0]["passage"] == 3
    capsys.readouterr()

    html = explained_page(bundle, "ferry", list(bundle.rank("ferry", explain=True)))
    assert "a/1 · passage 3" in html

    assert "a/1 · passage 3  Water\n" in succeeds(capsys, "rank", path, "ferry")
    line = succeeds(capsys, "rank", path, "ferry", "--json")
    assert json.loads(line)["hits"][0]["passage"] == 3
    assert succeeds(capsys, "explain", path, "ferry", "a/1").startswith("a/1 · passage 3  Water\n")
    tree = json.loads(succeeds(capsys, "explain", path, "ferry", "a/1", "--json"))
    assert tree["passage"] == 3
    assert "4 documents in 7 passages, " in succeeds(capsys, "inspect", path)


def test_documents_are_evaluated_and_not_passages(
    path: Path, judged: Path, capsys: Capture, tmp_path: Path
) -> None:
    text = succeeds(
        capsys, "eval", path, judged, "--json", "--measures", "MRR@10", "--runs", tmp_path
    )
    assert json.loads(text)["systems"]["bm25"]["MRR@10"] == pytest.approx(1.0)
    run = [line.split() for line in (tmp_path / "bm25.run").read_text().splitlines()]
    pairs = [(query, document) for query, _, document, *_ in run]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (PASSAGES, [0, 0, 0, 3, 4, 4, 9], "numbers must not decrease"),
        (PASSAGES, [1, 1, 1, 3, 4, 4, 6], "numbers must not decrease"),
        (PASSAGES, [0, 0, 0, 0, 2, 4, 6], "begins inside another one"),
        (PASSAGES, [0, 0, 0, 0, 4, 4, 6], "the passages of a document differ in it"),
        (PASSAGES, [0, 0, 2, 3, 4, 4, 6], "an id occurs twice"),
        ("documents/by_id.npy", [1, 0, 2, 3, 4, 5, 6], "not in the order of the ids"),
    ],
)
def test_damage_is_found(
    path: Path, tmp_path: Path, name: str, values: list[int], message: str
) -> None:
    damaged = Path(shutil.copytree(path, tmp_path / "damaged"))
    assert list(verify(damaged))[-1] == "ranker bm25"
    change_array(damaged, name, lambda _: np.array(values, np.uint32))
    with pytest.raises(BundleError, match=message):
        list(verify(damaged))
