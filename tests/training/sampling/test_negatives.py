import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.sampling.negatives import (
    bm25_negatives,
    random_negatives,
    random_pools,
    relevant_numbers,
)

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
