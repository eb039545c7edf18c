"""`ranklet judge`: from queries to judgements that train, fuse and eval read."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, succeeds
from tests.judging import judging

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.mark.slow
def test_judgements_are_read_by_everything_else(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    queries = {q.text: q.relevant for q in read_split(built.collection, "test")}
    folder = tmp_path / "judged"
    for part in (slice(0, 10), slice(None)):  # the second goes on where the first ended
        with judging(built.indexed, list(queries)[part], folder) as judge:
            for each in judge.ask("/state")[1]["queries"]:
                if not each["marks"]:
                    body = {"query": each["id"], "grades": queries[each["text"]]}
                    assert judge.ask("/marks", body)[0] == 200
            out = judge.end()
    assert f"{len(queries)} of {len(queries)} queries are judged" in out
    assert f"ranklet learn {built.indexed} {folder} --output better.ranklet" in out
    judged = {q.text: q.relevant for q in read_split(Collection(folder), "train")}
    assert judged == queries
    split = ("--split", "train")
    assert "bm25" in succeeds(capsys, "eval", built.indexed, folder, *split)
    learn = ("learn", built.indexed, folder, "--no-training", "-o", tmp_path / "better")
    assert f"{len(queries)} judged queries are too few" in fails(capsys, *learn)
    assert "MRR@10" in succeeds(capsys, "train", "bm25", folder, *split, "-o", tmp_path / "bm25")


@pytest.mark.slow
def test_marks_of_passages_count_for_their_document(tmp_path: Path) -> None:
    long = " ".join(f"Sentence {n} tells how bread {n} rises." for n in range(60))
    texts = [{"id": "long", "text": long}, {"id": "short", "text": "Oil the hinges."}]
    bundle = Path(build(texts, tmp_path / "bundle"))
    with judging(bundle, ["bread 50"], tmp_path / "judged", "--split", "test") as judge:
        (hit,) = judge.ask("/rank", {"query": "bread 50"})[1]["hits"]
        assert hit["passage"] > 1
        judge.ask("/marks", {"query": "q1", "grades": {hit["id"]: 1}})
        assert "ranklet eval" in judge.end()
    collection = Collection(tmp_path / "judged")
    assert collection.qrels("test") == {"q1": {"long": 1}}
    assert [each.text for each in collection.documents()] == [long, "Oil the hinges."]


def test_what_is_wrong_is_said_before_a_page_opens(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    queries, out = tmp_path / "queries.txt", tmp_path / "judged"
    queries.write_text("knead dough\n")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "queries.csv").write_text("id,text\n1,knead dough\n")
    end = ("-o", out, "--port", "0", "--no-browser")
    for arguments, message in (
        ((built.fused, tmp_path / "none.txt"), "does not exist"),
        ((built.fused, tmp_path / "empty.txt"), "has no query"),
        ((built.fused, tmp_path / "queries.csv"), "is a table"),
        ((built.exported, queries), "collection"),
        ((tmp_path / "none", queries), "none"),
        ((built.fused, queries, "--pipeline", "best"), "no pipeline 'best'; it has "),
        ((built.fused, queries, "--split", "a b"), "use only letters"),
    ):
        assert message in fails(capsys, "judge", *arguments[:2], *end, *arguments[2:])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = fails(capsys, "judge", built.fused, queries, "-o", out, "--port", port)
    assert f"cannot listen on 127.0.0.1 port {port}" in message
    assert not out.exists()
