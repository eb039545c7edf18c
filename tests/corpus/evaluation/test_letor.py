"""LETOR files have the grades and the scores that fusion learns from."""

from pathlib import Path

import numpy as np
from tests.commands.running import Capture, fails, succeeds

from ranklet import build
from ranklet.corpus.collections.collection import Query, write_collection


def test_candidates_are_written_with_their_scores(tmp_path: Path, capsys: Capture) -> None:
    texts = ["bread and dough", "dough, dough and yeast", "windows"]
    bundle = build(
        [{"id": f"d{at}", "text": text} for at, text in enumerate(texts)], tmp_path / "b"
    )
    judged = {"a": {"d1": 2}, "b": {"d2": 1}}
    queries = [Query("a", "dough"), Query("b", "windows")]
    write_collection(tmp_path / "c", [], {"test": (queries, judged)})
    asked = ("eval", str(tmp_path / "b"), str(tmp_path / "c"), "--letor", str(tmp_path / "out"))
    succeeds(capsys, *asked)
    first, *lines = (tmp_path / "out" / "bm25.letor").read_text().splitlines()
    assert first == "# 1 bm25"
    assert [line.split(" # ")[1] for line in lines] == ["a d0", "a d1", "b d2"]
    assert [line.split()[:2] for line in lines] == [
        ["0", "qid:1"], ["2", "qid:1"], ["1", "qid:2"],
    ]  # fmt: skip
    written = [float(line.split()[2].removeprefix("1:")) for line in lines]
    scores = [bundle.features(text)[1]["bm25"] for text in ("dough", "windows")]
    np.testing.assert_allclose(written, np.concatenate(scores), rtol=1e-6)
    assert "exists" in fails(capsys, *asked)
