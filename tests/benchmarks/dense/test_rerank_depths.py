"""A cross-encoder orders the first documents of a list, and the others stay where they are."""

import pytest

from ranklet.training.data.splits import JudgedQuery

rerank_depths = pytest.importorskip("benchmarks.dense.rerank_depths")


def test_reading_more_documents_finds_more_relevant_ones() -> None:
    pytest.importorskip("scipy")
    queries = [JudgedQuery(str(at), "", {f"d{at + 6}": 1}) for at in range(4)]
    ids = [f"d{at}" for at in range(100)]
    scores = {id_: float(at) / 100 for at, id_ in enumerate(ids)}
    listed = [
        {"lists": dict.fromkeys(rerank_depths.FIRST, ids), "scores": {**scores, f"d{at + 6}": 2.0}}
        for at in range(4)
    ]
    text = rerank_depths.section(queries, listed, 7)
    (row,) = (line for line in text.splitlines() if line.startswith("| BM25 |"))
    values = [float(each.strip().rstrip("†‡")) for each in row.split("|")[2:-1]]
    assert values[0] == values[1] == pytest.approx((1 / 7 + 1 / 8 + 1 / 9 + 1 / 10) / 4, abs=1e-4)
    assert values[2:] == [1.0] * (len(rerank_depths.READ) - 2)
    assert "+0.000 (+0.000 to +0.000)" in text


def test_documents_that_are_not_read_keep_their_order() -> None:
    ids = ["a", "b", "c", "d"]
    scores = {"a": 1.0, "b": 2.0, "c": 9.0, "d": 8.0}
    assert rerank_depths.reread(ids, scores, 0) == ids
    assert rerank_depths.reread(ids, scores, 2) == ["b", "a", "c", "d"]
    assert rerank_depths.reread(ids, scores, 9) == ["c", "d", "b", "a"]
