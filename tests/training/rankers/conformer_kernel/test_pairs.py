"""Batches of terms with their statistics, and the weak pairs of the paper."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.kinds import tiny_options

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings, rarity
from ranklet.training.rankers.conformer_kernel.pairs import TermPairs, TermReader, weak_ranknet_loss
from ranklet.training.sampling.negatives import relevant_numbers

OPTIONS = tiny_options("conformer_kernel", epochs=1)


def test_the_weak_pairs_are_the_papers() -> None:
    relevant, ranked, first, second = 1.5, 0.2, 0.7, -1.0
    wanted = [(relevant, other) for other in (ranked, first, second)]  # positively labelled
    wanted += [(ranked, first), (ranked, second)]  # weakly
    by_hand = [math.log(1 + math.exp(low - high)) for high, low in wanted]
    scores = torch.tensor([[relevant, ranked, first, second]])
    assert weak_ranknet_loss(scores).item() == pytest.approx(np.mean(by_hand))


def test_pairs_hold_terms_and_their_statistics(tiny_analysed: AnalysedCollection) -> None:
    rows = term_rows(("apple", "red"), tiny_analysed.analyzer.vocabulary, "words")
    settings = ConformerKernelSettings(max_query_terms=3, max_document_terms=4)
    reader = TermReader(tiny_analysed, settings, rows)
    ids = list(tiny_analysed.documents.ids)
    queries = [reader.query_terms("a red red apple apple"), reader.query_terms("gnorp")]
    documents = np.array([[ids.index("apple-red"), ids.index("apple-heavy")]] * 2)
    found = reader.pairs(queries, documents)
    # The fields of a document are "apple" and "the red apple is red", of which 4 terms count.
    assert found.query_rows[:, :3].tolist() == [[3, 3, 2]] * 2 + [[UNKNOWN, 0, 0]] * 2
    assert (found.query_rows[:, 3:] == PADDING).all()
    assert found.document_rows[0][:5].tolist() == [2, 3, 2, 3, PADDING]
    assert found.tf[:, :3].tolist() == [[2, 2, 2], [0, 0, 2], [0, 0, 0], [0, 0, 0]]
    assert found.lengths.tolist() == [4, 4, 4, 4]
    red, rarest = rarity(np.array([8, 0]), len(ids))
    assert found.idf[0, :1].tolist() == pytest.approx([red])
    assert found.idf[2, :1].tolist() == pytest.approx([rarest])


def test_a_batch_holds_one_relevant_one_ranked_and_two_others(
    tiny_analysed: AnalysedCollection, tiny_collection: Collection
) -> None:
    retriever = open_bm25(BM25Settings("lemmas"), tiny_analysed.postings("lemmas"))
    queries = read_split(tiny_collection, "train")
    reader = TermReader(
        tiny_analysed,
        ConformerKernelSettings(),
        term_rows((), tiny_analysed.analyzer.vocabulary, "lemmas"),
    )
    pairs = TermPairs(
        tiny_analysed, queries, retriever, reader, replace(OPTIONS, depth=3, pool=3), None
    )
    kept, relevant = relevant_numbers(list(tiny_analysed.documents.ids), queries)
    seen = []
    for epoch in range(4):
        for batch in pairs.batches(epoch):
            assert batch.documents.shape[1] == 4
            for query, (first, ranked, *drawn) in zip(batch.queries, batch.documents, strict=True):
                assert first in relevant[query]
                assert not {ranked, *drawn} & {*relevant[query].tolist()}
                seen.append((query, ranked, tuple(drawn)))
    assert len({each[2] for each in seen}) > len(kept)  # others are drawn again in each epoch
    assert sorted(each[0] for each in seen) == sorted([*range(len(kept))] * 4)
    again = TermPairs(
        tiny_analysed, queries, retriever, reader, replace(OPTIONS, depth=3, pool=3), None
    )
    for one, other in zip(pairs.batches(2), again.batches(2), strict=True):
        np.testing.assert_array_equal(one.documents, other.documents)
