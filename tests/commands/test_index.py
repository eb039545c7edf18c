from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, succeeds

from ranklet.runtime import Bundle

if TYPE_CHECKING:
    from tests.conftest import Built


def test_titles_can_be_left_out(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    arguments = ("index", built.exported, built.collection.path, "-o", tmp_path / "b")
    succeeds(capsys, *arguments, "--no-titles")
    assert Bundle(tmp_path / "b").rank_ids("seasoning", pipeline="bm25_words") == []
