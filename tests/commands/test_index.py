import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails, succeeds

from ranklet.runtime import Bundle, load

if TYPE_CHECKING:
    from tests.conftest import Built


def test_titles_can_be_left_out(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    arguments = ("index", built.exported, built.collection.path, "-o", tmp_path / "b")
    succeeds(capsys, *arguments, "--no-titles")
    assert Bundle(tmp_path / "b").rank_ids("seasoning", pipeline="bm25_words") == []


def test_metadata_of_a_collection_is_kept(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    lines = [
        {"_id": "a", "text": "Knead the dough.", "metadata": {"year": 2020}, "tags": ["x"]},
        {"_id": "b", "text": "The dough rises.", "metadata": {}},
    ]
    folder, output = tmp_path / "c", tmp_path / "indexed.ranklet"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    printed = succeeds(capsys, "index", built.exported, folder, "-o", output)
    assert "metadata: tags (list), year (number)\n" in printed
    bundle = load(output)
    for pipeline in bundle.manifest.pipelines:
        found = bundle.rank("dough", where={"year": {"missing": True}}, pipeline=pipeline)
        assert [hit.id for hit in found] == ["b"], pipeline
    assert bundle.rank("dough", where={"tags": {"has": "x"}})[0].metadata == {
        "tags": ["x"], "year": 2020
    }  # fmt: skip


def test_a_query_log_is_added_to_the_texts(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    folder, output = tmp_path / "c", tmp_path / "indexed.ranklet"
    folder.mkdir()
    for name, lines in {
        "corpus.jsonl": [{"_id": "a", "text": "Knead the dough."}, {"_id": "b", "text": "Rest."}],
        "queries.log.jsonl": [{"_id": "q", "text": "sourdough bread"}],
    }.items():
        (folder / name).write_text("\n".join(map(json.dumps, lines)))
    (folder / "qrels.log.txt").write_text("q 0 b 1\n")
    succeeds(capsys, "index", built.exported, folder, "-o", output, "--query-log", "log")
    assert [hit.id for hit in load(output).rank("sourdough", pipeline="bm25")] == ["b"]
    again = ("index", built.exported, folder, "-o", output, "--force", "--query-log")
    assert "other" in fails(capsys, *again, "other")
    assert "--query-log needs a collection folder" in fails(
        capsys, *again, "log", "--passage-words", "50"
    )
    assert load(output).size == "2 documents"
