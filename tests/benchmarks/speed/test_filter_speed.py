"""Filters are timed only where every answer is right, on indexes of any size."""

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.harness.place import Place
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.topk import Scored

filter_speed = pytest.importorskip("benchmarks.speed.filter_speed")
TINY = filter_speed.Sizes(impacts=3_000, vectors=900, linked=400, late=60, queries=12, rounds=1)


def test_the_table_has_a_row_per_index_and_a_ratio_per_filter(tmp_path: Path) -> None:
    pytest.importorskip("hnswlib")
    place = Place(tmp_path, tmp_path / "work")
    lines = [line for line in filter_speed.run(place, TINY).splitlines() if line.startswith("| ")]
    assert "| 50.00%, ÷ | 5.00%, ÷ | 0.50%, ÷ | 0.01%, ÷ |" in lines[0]
    assert [re.findall(r"^\| ([a-zA-Z]+)", line) for line in lines[1:]] == [
        ["impacts"], ["impacts"], ["exact"], ["HNSW"], ["MaxSim"]
    ]  # fmt: skip
    for line in lines[1:]:
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        assert [float(cell) > 0 for cell in cells[-6:]] == [True] * 6
        assert len(cells) == 8


def test_masks_allow_the_share_and_one_document_at_least() -> None:
    rng = np.random.default_rng(0)
    counts = {
        share: [int(mask.sum()) for mask in filter_speed._masks(rng, 200, share, 3)]
        for share in (0.5, 0.005, 0.0001)
    }
    assert counts == {0.5: [100] * 3, 0.005: [1] * 3, 0.0001: [1] * 3}


def ranking(query: int, k: int, mask: Mask | None) -> Scored:
    numbers = np.arange(40, dtype=np.uint32)
    kept = numbers if mask is None else numbers[mask]
    return kept[:k], np.zeros(len(kept[:k]), np.float32)


def filtered_afterwards(query: int, k: int, mask: Mask | None) -> Scored:
    numbers, scores = ranking(query, k, None)
    kept: NDArray[np.bool_] = np.ones(len(numbers), bool) if mask is None else mask[numbers]
    return numbers[kept], scores[kept]


def of_the_others(query: int, k: int, mask: Mask | None) -> Scored:
    if mask is None:
        return ranking(query, k, None)
    return ranking(query, min(k, int(mask.sum())), ~mask)


def test_wrong_answers_are_no_figures() -> None:
    masks = [np.arange(40) % 2 == 1] * 20
    right = filter_speed.Index("right", 40, ranking, ranking)
    assert filter_speed._recall(right, masks) == 1
    late = filter_speed.Index("late", 40, filtered_afterwards, ranking)
    with pytest.raises(RuntimeError, match="late: 5 documents came, 10 match"):
        filter_speed._recall(late, masks)
    wrong = filter_speed.Index("wrong", 40, of_the_others, ranking)
    assert filter_speed._recall(wrong, masks) == 0
    with pytest.raises(RuntimeError, match=r"wrong: only .* of an answer"):
        filter_speed._row(wrong, TINY)
