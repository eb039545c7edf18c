"""From a collection to an answer, by commands alone."""

from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, falls_short, succeeds

from ranklet.commands import main
from ranklet.commands.train import FELL_SHORT
from ranklet.training.checkpoint import read_checkpoint

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.mark.slow
def test_the_whole_way(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    collection, tokenizer = built.collection.path, built.tokenizer
    bm25, pieces, model1 = (tmp_path / name for name in ("bm25", "pieces", "lr=1"))
    options: tuple[object, ...]
    text = succeeds(capsys, "train", "bm25", collection, "-o", bm25)
    assert "MRR@10" in text
    options = ("--field", "wordpieces", "--tokenizer", tokenizer, "--measure", "nDCG@10")
    assert "nDCG@10" in succeeds(capsys, "train", "bm25", collection, "-o", pieces, *options)
    options = ("--bm25", bm25, "--tune", "test", "--iterations", "2", "--max-queries", "9")
    text, warning = falls_short(capsys, "train", "model1", collection, "-o", model1, *options)
    assert "BM25 " in text
    assert "ranked perfectly before" in warning
    training = read_checkpoint(model1).training
    assert training["tuning_queries"] == 9
    assert training["shared_queries"] > 0
    assert f"{training['shared_queries']} of 9 tuning queries have a relevant document" in text

    exported, indexed = (tmp_path / f"{n}.ranklet" for n in ("exported", "indexed"))
    text = succeeds(capsys, "export", bm25, f"p={pieces}", f"m1={model1}", "-o", exported)
    assert text == f"bm25, p, m1 → {exported}\n"
    text = succeeds(capsys, "index", exported, collection, "-o", indexed)
    assert text.startswith(f"42 documents → {indexed}\n")
    assert "bread" in succeeds(capsys, "rank", indexed, "how long to knead dough", "-k", 1)
    assert succeeds(capsys, "verify", indexed).endswith(f"{indexed} is valid\n")
    assert "ranker   m1: model1" in succeeds(capsys, "inspect", indexed)
    judged = tmp_path / "judged"
    copytree(collection, judged, ignore=ignore_patterns("corpus*"))  # the bundle has the documents
    learn = ("learn", indexed, judged, "-o", tmp_path / "better", "--no-training")
    assert main([str(each) for each in learn]) == FELL_SHORT  # nothing was sure to gain
    assert "41 queries to choose on and 29 to report on" in capsys.readouterr().out
    assert not (tmp_path / "better").exists()

    # What is there stays there unless it is said otherwise.
    for arguments in (
        ("index", exported, collection, "-o", indexed),
        ("export", bm25, "-o", exported),
        ("train", "bm25", collection, "-o", bm25),
    ):
        assert "--force" in fails(capsys, *arguments)
        succeeds(capsys, *arguments, "--force")
