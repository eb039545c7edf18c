import numpy as np
import pytest

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.samplers import (
    batches,
    bm25_negatives,
    draw,
    draw_several,
    known_positives,
    random_negatives,
    random_pools,
    relevant_numbers,
)
from ranklet.training.rankers.bm25 import open_bm25

IDS = ["a", "b", "c", "d"]


def test_queries_without_a_relevant_document_here_are_left_out() -> None:
    queries = [
        JudgedQuery("q1", "x", {"c": 1, "a": 2, "gone": 1}),
        JudgedQuery("q2", "y", {"gone": 1}),
    ]
    kept, relevant = relevant_numbers(IDS, queries)
    assert [query.id for query in kept] == ["q1"]
    assert [each.tolist() for each in relevant] == [[0, 2]]


def test_bm25_negatives_are_ranked_documents_that_are_not_relevant(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection
) -> None:
    queries, relevant = relevant_numbers(
        list(tiny_analysed.documents.ids), read_split(tiny_collection, "train")
    )
    retriever = open_bm25(BM25Settings("lemmas"), tiny_analysed.postings("lemmas"))
    first = bm25_negatives(tiny_analysed, queries, relevant, retriever, count=5)
    again = bm25_negatives(tiny_analysed, queries, relevant, retriever, count=5)
    other = bm25_negatives(tiny_analysed, queries, relevant, retriever, count=5, seed=1)
    assert [each.tolist() for each in first] == [each.tolist() for each in again]
    assert [each.tolist() for each in first] != [each.tolist() for each in other]
    for query, known, found in zip(queries, relevant, first, strict=True):
        assert len({*found.tolist()} - {*known.tolist()}) == 5
        quality = query.text.split()[0]  # BM25 finds documents of that quality: all of them hold it
        assert all(tiny_analysed.documents.ids[at].endswith(quality) for at in found.tolist())


def test_random_documents_fill_up_where_bm25_finds_too_few(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection
) -> None:
    queries, relevant = relevant_numbers(
        list(tiny_analysed.documents.ids), read_split(tiny_collection, "train")
    )
    retriever = open_bm25(BM25Settings("lemmas"), tiny_analysed.postings("lemmas"))
    found = bm25_negatives(tiny_analysed, queries, relevant, retriever, count=20)
    for known, each in zip(relevant, found, strict=True):
        assert len(np.unique(each)) == 20
        assert not np.isin(each, known).any()


@pytest.mark.parametrize("documents", [6, 10_000])
def test_random_negatives_are_different_and_unknown(documents: int) -> None:
    known = np.array([0, 3])
    found = random_negatives(documents, known, 4, np.random.default_rng(0))
    assert len({*found.tolist()}) == 4
    assert not np.isin(found, known).any()
    assert [each.tolist() for each in random_pools(documents, [known], count=4)] == [
        each.tolist() for each in random_pools(documents, [known], count=4)
    ]


def test_a_draw_is_of_the_pool_and_hangs_on_seed_epoch_and_stream() -> None:
    pools = [np.arange(at, at + 50) for at in range(0, 1000, 50)]
    first = draw(pools, seed=1, epoch=0)
    assert all(at in pool for at, pool in zip(first, pools, strict=True))
    assert first.tolist() == draw(pools, seed=1, epoch=0).tolist()
    for other in (draw(pools, 2, 0), draw(pools, 1, 1), draw(pools, 1, 0, stream=1)):
        assert first.tolist() != other.tolist()
    with pytest.raises(InputError, match="without a document"):
        draw([np.arange(3), np.empty(0, np.int64)], 0, 0)


def test_batches_hold_each_item_once_and_like_lengths_together() -> None:
    lengths = np.random.default_rng(0).integers(1, 200, 1000)
    cut = batches(lengths, 16, seed=3, epoch=0)
    assert sorted(np.concatenate(cut).tolist()) == list(range(1000))
    assert [each.tolist() for each in cut] == [
        each.tolist() for each in batches(lengths, 16, seed=3, epoch=0)
    ]
    assert cut[0].tolist() != batches(lengths, 16, seed=3, epoch=1)[0].tolist()

    def padded(found: list[np.ndarray]) -> int:
        return sum(len(each) * int(lengths[each].max()) for each in found)

    at_random = batches(lengths, 16, seed=3, epoch=0, window=1)
    assert padded(cut) < 1.1 * lengths.sum() < padded(at_random)


def test_known_positives_of_other_queries_are_known() -> None:
    relevant = [np.array([1, 7]), np.array([2])]
    assert known_positives(relevant, np.array([1, 2, 7])).tolist() == [
        [True, False, True],
        [False, True, False],
    ]


def test_several_are_drawn_without_repeats_while_there_are_enough() -> None:
    pools = [np.array([3, 1, 4, 8]), np.array([5, 9])]
    drawn = draw_several(pools, 3, seed=0, epoch=1)
    assert drawn.shape == (2, 3)
    assert len(set(drawn[0])) == 3
    assert set(drawn[0]) < {3, 1, 4, 8}
    assert set(drawn[1]) == {5, 9}
    np.testing.assert_array_equal(drawn, draw_several(pools, 3, seed=0, epoch=1))
    epochs = [draw_several(pools, 3, seed=0, epoch=epoch)[0].tolist() for epoch in range(9)]
    assert any(each != epochs[0] for each in epochs)
    for wrong in ([], [np.array([1]), np.empty(0, np.int64)]):
        with pytest.raises(InputError, match="without a document to learn from"):
            draw_several(wrong, 2, seed=0, epoch=0)
