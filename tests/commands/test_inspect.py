from typing import TYPE_CHECKING

from tests.commands.running import Capture, strict, succeeds

if TYPE_CHECKING:
    from tests.conftest import Built


def test_inspect_shows_the_manifest(built: "Built", capsys: Capture) -> None:
    text = succeeds(capsys, "inspect", built.fused)
    for part in (
        "42 documents",
        "ranker   bm25_words: bm25",
        "pipeline linear (default): retrieve",
    ):
        assert part in text
    raw = strict(succeeds(capsys, "inspect", built.zipped, "--json"))
    assert raw["default_pipeline"] == "linear"
    assert "fields: none" in succeeds(capsys, "inspect", built.exported)
