import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails, succeeds

if TYPE_CHECKING:
    from tests.conftest import Built


def test_a_feed_is_written(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    arguments = ("feed", built.indexed, "-o", tmp_path / "feed.jsonl", "--ranker", "bm25")
    assert f"lines → {tmp_path / 'feed.jsonl'}" in succeeds(capsys, *arguments)
    first = (tmp_path / "feed.jsonl").read_text("utf-8").splitlines()[0]
    assert [*json.loads(first)["vectors"]] == ["bm25"]
    assert "exists" in fails(capsys, *arguments)
    succeeds(capsys, *arguments, "--force")


def test_the_vectors_of_a_query_are_printed(built: "Built", capsys: Capture) -> None:
    query = ("feed", built.indexed, "--query", "bread", "--ranker", "bm25_words")
    assert len(json.loads(succeeds(capsys, *query))["bm25_words"]) == 1


def test_nothing_to_do_is_an_error(built: "Built", capsys: Capture) -> None:
    assert "give a file to write (-o FILE), or a --query" in fails(capsys, "feed", built.indexed)
