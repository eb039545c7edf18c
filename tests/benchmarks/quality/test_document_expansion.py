"""Two first stages and EPIC are compared, and the queries whose documents were expanded apart."""

import numpy as np
import pytest

from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split

expansion = pytest.importorskip("benchmarks.quality.document_expansion")


def test_gains_over_both_are_tested() -> None:
    pytest.importorskip("scipy")
    queries = [JudgedQuery(str(at), "", {"relevant": 1}) for at in range(8)]
    ids = ["a", "b", "relevant"]
    worst, best = np.array([3, 2, 1], np.float32), np.array([2, 1, 3], np.float32)
    found = {}
    for name in (expansion.PLAIN, expansion.EXPANDED):
        found[name] = [ids] * 8, [worst] * 8
        found[expansion.READ[name]] = [ids] * 8, [best] * 8
        found[expansion.FUSED[name]] = [ids] * 8, [expansion.by_ranks(worst, best)] * 8
    known = np.array([True] * 3 + [False] * 5)
    page = expansion.section(queries, found, known, 7)
    assert "8 held-out queries of qa-mix's train, of which 3 have" in page
    (row,) = (line for line in page.splitlines() if line.startswith(f"| {expansion.PLAIN} |"))
    assert row.count("0.3333") == 3  # MRR@10 of all, of expanded ones, and of the others
    (row,) = (
        line
        for line in page.splitlines()
        if line.startswith(f"| {expansion.READ[expansion.EXPANDED]} | {expansion.EXPANDED} |")
    )
    assert "+0.667" in row


def test_ranks_and_not_scores_are_fused() -> None:
    first, second = np.array([9, 8, 1], np.float32), np.array([0.1, 0.3, 0.2], np.float32)
    assert expansion.by_ranks(first, second).argmax() == 1
    assert np.allclose(expansion.by_ranks(first * 100, second), expansion.by_ranks(first, second))


def test_what_chose_the_weights_is_not_reported(
    tiny_collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = read_split(tiny_collection, "train")
    monkeypatch.setattr(expansion, "REPORT", "train")
    found = expansion.reported(tiny_collection, every[:3], 5)
    assert len(found) == 5
    assert {each.id for each in found}.isdisjoint(each.id for each in every[:3])
