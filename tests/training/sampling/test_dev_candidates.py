import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.learning.options import TrainingOptions
from ranklet.training.sampling import dev_candidates


def test_the_dev_measure_by_hand(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev_candidates, "DEV_QUERIES", 4)
    monkeypatch.setattr(dev_candidates, "DEV_CANDIDATES", 5)
    retriever = open_bm25(BM25Settings("lemmas"), tiny_analysed.postings("lemmas"))
    dev = read_split(tiny_collection, "dev")
    lists = dev_candidates.CandidateLists(tiny_analysed, dev, retriever, TrainingOptions())
    assert len(lists.lists) == 4
    for _, numbers, relevant in lists.lists:
        assert relevant.sum() == 1
        assert len({*numbers.tolist()}) == len(numbers)
    ranks = []
    for query, numbers, relevant in lists.lists:
        context = QueryContext(query.text, tiny_analysed.analyzer.begin())
        found = retriever.retrieve(context, 5).numbers.tolist()
        (wanted,) = numbers[relevant].tolist()
        ranks.append(1 / (1 + found.index(wanted)) if wanted in found else 0)
    assert lists.measured.bm25 == pytest.approx(np.mean(ranks))
    assert lists.measured.queries == 4
    sizes = [len(numbers) for _, numbers, _ in lists.lists]
    assert lists.reciprocal_ranks(np.zeros(sum(sizes), np.float32)).max() <= 1 / 5
    scores = [np.zeros(size, np.float32) for size in sizes]
    for row, (_, _, relevant) in zip(scores, lists.lists, strict=True):
        place = np.flatnonzero(relevant)[0]
        row[place], row[(place + 1) % len(row)] = 1, 2
    assert lists.reciprocal_ranks(np.concatenate(scores)) == pytest.approx([0.5] * 4)
