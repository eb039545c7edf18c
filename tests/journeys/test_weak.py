"""From a table of texts to a search with a trained network, without any judgement."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, succeeds

from ranklet.commands import main

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_a_network_learns_from_titles_and_is_served(
    tiny: "TinyRankers", tmp_path: Path, capsys: Capture
) -> None:
    table, bundle = tmp_path / "texts.csv", tmp_path / "search.ranklet"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "text"])
        for number, each in enumerate(tiny.data.collection.documents()):
            more = " ".join(["and so on"] * 4)
            writer.writerow([each.id, f"{each.title} {number}", f"{each.text} {more}"])
    checkpoint, rankers = tmp_path / "dense", tmp_path / "rankers.ranklet"
    options = (
        "--backbone",
        tiny.data.bert,
        "--batch",
        8,
        "--max-document-tokens",
        32,
        "--lr",
        1e-3,
        "--steps",
        24,
        "--evaluate-every",
        2,
    )
    training = ("train", "dense", table, "--weak", "titles", "-o", checkpoint, *options)
    assert main([str(each) for each in training]) in (0, 3)  # few titles make no gain sure
    out = capsys.readouterr().out
    assert "on held-out titles, not judged queries" in out
    bm25 = tmp_path / "bm25"
    succeeds(capsys, "train", "bm25", table, "--weak", "titles", "-o", bm25)
    # The proof uses the held-out titles.
    variants = ("--variants", "fp32", "--max-ndcg-loss", 1)
    assert "fp32" in succeeds(capsys, "export", bm25, checkpoint, "-o", rankers, *variants)
    succeeds(capsys, "index", rankers, table, "-o", bundle)
    assert "48 documents" in succeeds(capsys, "inspect", bundle)
    assert "1" in succeeds(capsys, "rank", bundle, "red fruit", "-k", 1)
