import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails, succeeds

from ranklet.commands import feed
from ranklet.export.feeds.writing import ENGINES

if TYPE_CHECKING:
    from tests.conftest import Built


def test_a_feed_is_written_and_says_how_it_is_loaded(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    arguments = ("feed", built.indexed, "--to", "vespa", "-o", tmp_path / "feed", "--name", "home")
    shown = succeeds(capsys, *arguments, "--ranker", "bm25")
    assert f"feed for vespa → {tmp_path / 'feed'}" in shown
    assert "vespa deploy ." in shown
    assert "schema home {" in (tmp_path / "feed" / "schemas" / "home.sd").read_text("utf-8")
    assert "exists" in fails(capsys, *arguments)
    succeeds(capsys, *arguments, "--force")


def test_a_query_alone_is_printed(built: "Built", capsys: Capture) -> None:
    query = ("feed", built.indexed, "--to", "qdrant", "--query", "bread", "-k", 3)
    body = json.loads(succeeds(capsys, *query, "--ranker", "bm25_words"))
    assert (body["using"], body["limit"]) == ("impacts_bm25_words", 3)


def test_nothing_to_do_is_an_error(built: "Built", capsys: Capture) -> None:
    assert "give a folder to write (-o FOLDER), or a --query" in fails(
        capsys, "feed", built.indexed, "--to", "qdrant"
    )


def test_the_command_names_the_engines_that_there_are() -> None:
    assert feed.ENGINES == ENGINES  # it does not import them, because they need numpy
