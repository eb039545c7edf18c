"""The benchmark of object storage runs on a miniature; its section says which goals are met."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

benchmark: Any = import_module("benchmarks.objects.object_storage")
synthetic: Any = import_module("benchmarks.objects.synthetic")


@pytest.mark.slow
def test_a_miniature_is_built_served_and_measured(tmp_path: Path) -> None:
    bundle = tmp_path / "b.zip"
    benchmark.build(bundle, 3000)
    with benchmark.served(bundle) as address:
        found = benchmark.measured(f"{address}/1/b.zip", tmp_path / "cache", rounds=2, count=4)
    assert not (tmp_path / "cache").exists()
    new, again = found["cold"][-1]["new"], found["cold"][-1]["again"]
    assert len(new) == len(again) == 5
    assert sum(row[1] for row in again) == 0
    assert found["cold"][0]["opening"][0] > 1
    assert found["held"] > 0
    section = benchmark.report({1: found}, 3000, bundle.stat().st_size)
    assert "| 1 ms |" in section


def test_the_section_says_whether_the_goal_is_met() -> None:
    cold = [{"first": 300.0, "opened": 200.0, "opening": [9, 5e6], "new": [[1, 2, 3]] * 3}]
    cold[0]["again"] = [[1.5, 0, 0]] * 3
    found = {"cold": cold, "cached": cold, "held": 2e6}
    found["downloaded"] = {"first": 900.0, "again": [[1.0, 0, 0]]}
    assert "**300 ms**, met." in benchmark.report({30: found}, 1000, 10**9)
    cold[0]["first"] = 400.0
    assert "missed" in benchmark.report({30: found}, 1000, 10**9)


def test_texts_and_queries_are_the_same_each_time_and_share_words() -> None:
    texts = list(synthetic.passages(2000))
    assert texts == list(synthetic.passages(2000))
    lengths = [len(text.split()) for _, text in texts]
    assert 0.9 * synthetic.MEAN < sum(lengths) / len(lengths) < 1.1 * synthetic.MEAN
    words = {word for _, text in texts for word in text.split()}
    queries = synthetic.queries(200)
    assert queries == synthetic.queries(200)
    assert sum(any(word in words for word in query.split()) for query in queries) > 150
    spelled = synthetic.words()
    assert len(spelled) == synthetic.WORDS
