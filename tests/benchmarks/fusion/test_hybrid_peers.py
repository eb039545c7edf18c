"""The simpler sums of the two lists are what their rows say."""

from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.fusion.hybrid_peers import FIXED, fused, min_max

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.pipelines.pipeline import Fuse, Pipeline, Retrieve

LISTS = {"bm25": [("a", 9.0), ("b", 5.0), ("c", 1.0)], "minilm": [("b", 0.9), ("d", 0.7)]}


def test_a_min_max_sum_adds_shares_of_scores_between_0_and_1() -> None:
    bundle: Any = SimpleNamespace(rank_ids=lambda _, k, pipeline: LISTS[pipeline][:k])
    found = dict(min_max(bundle, [JudgedQuery("1", "", {})])["1"])
    assert list(found) == ["b", "a", "c", "d"]
    assert found == pytest.approx({"b": 0.3 * 0.5 + 0.7, "a": 0.3, "c": 0.0, "d": 0.0})


def test_fixed_weights_are_those_of_the_same_lists() -> None:
    lists = Retrieve("bm25"), Retrieve("minilm", 200)
    whole = Pipeline((*lists, Fuse("linear", ("bm25", "minilm"), (3.1, 7.0))))
    *same, fuse = fused(whole, FIXED).stages
    assert tuple(same) == lists
    assert fuse == Fuse("linear", ("bm25", "minilm"), (0.4, 0.6))
