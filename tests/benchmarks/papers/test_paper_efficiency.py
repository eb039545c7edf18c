"""The rankers of the papers are built and timed, here with a BERT of one layer."""

from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from benchmarks.harness.place import Place
from tests.kinds import TinyRankers

from ranklet.corpus.collections.collection import write_collection

efficiency = pytest.importorskip("benchmarks.papers.paper_efficiency")


@pytest.mark.slow
def test_every_ranker_is_timed_and_weighed(tiny: TinyRankers, tmp_path: Path) -> None:
    given = tiny.data.collection
    splits = {split: (list(given.queries(split)), given.qrels(split)) for split in ("train", "dev")}
    data = tmp_path / "data" / "qa-mix"
    write_collection(data, list(given.documents()), splits)
    size = efficiency.Size(documents=48, queries=4, slow=2, steps=1, learned=16)
    bert = partial(
        efficiency.bert_base, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64,
    )  # fmt: skip
    bundle = tmp_path / "efficiency.ranklet"
    few = {name: efficiency.RANKERS[name] for name in ("bm25", "repbert", "tk", "vanilla")}
    words = {"tk": tiny.checkpoint("tk")}
    with (
        patch.object(efficiency, "RANKERS", few),
        patch.object(efficiency, "_over_words", lambda *_: words),
    ):
        efficiency.build(Place(tmp_path / "data", tmp_path), bundle, size, bert)
        _check(bundle, size)


def _check(bundle: Path, size: Any) -> None:
    found = efficiency.times(bundle, size)
    assert set(found) == set(efficiency.RANKERS)
    assert {name: set(map(int, each)) for name, each in found.items()} == {
        name: {100} if paper.per_pair else {100, 1000} for name, paper in efficiency.RANKERS.items()
    }
    assert [len(found[name]["100"]) for name in ("bm25", "vanilla")] == [4, 2]
    sizes = efficiency.costs(bundle)
    assert sizes["vanilla"] == 0
    assert sizes["repbert"] > 32
    page = efficiency.section({1: found, 2: found}, sizes, size)
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(efficiency.RANKERS)
    assert {len(each) for each in rows} == {7}
