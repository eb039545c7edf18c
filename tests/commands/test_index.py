import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, succeeds

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
    assert "metadata: tags (strings), year (number)\n" in printed
    bundle = load(output)
    for pipeline in bundle.manifest.pipelines:
        found = bundle.rank("dough", where={"year": {"missing": True}}, pipeline=pipeline)
        assert [hit.id for hit in found] == ["b"], pipeline
    assert bundle.rank("dough", where={"tags": {"has": "x"}})[0].metadata == {
        "tags": ["x"], "year": 2020
    }  # fmt: skip
